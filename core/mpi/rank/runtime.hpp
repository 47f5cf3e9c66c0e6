// What every part of the MPI layer works with: time, ranks and their traces, the event log.
//
// This is how operations reach the rest of the simulation: through it they let ranks compute and
// sleep and wake them. They know nothing of the loop that moves the clock.
#pragma once

#include <cstdint>

#include "clock/clock.hpp"
#include "event_log/event_log.hpp"
#include "host/cpu.hpp"
#include "host/disks.hpp"
#include "mpi/rank/interruption.hpp"
#include "mpi/rank/jobs.hpp"
#include "mpi/rank/ranks.hpp"
#include "platform/model.hpp"

namespace tisim {

struct Runtime {
  const Model& model;
  Clock& clock;
  Cpu& cpu;
  Disks& disks;
  Ranks& ranks;
  Jobs& jobs;
  EventLog& log;
  Interruption& interruption;

  // The rank is in `phase` until the time is over.
  void sleep(Rank& rank, std::int32_t index, double seconds, Phase phase) const {
    rank.phase = phase;
    clock.sleep(seconds, index);
  }
  void compute(Rank& rank, std::int32_t index, double flops, Phase phase) const {
    rank.phase = phase;
    cpu.start(rank.host, flops, index, clock.now());
  }
  // A rank goes on because a message has arrived.
  void wake_by(std::int32_t message, std::int32_t index) const {
    if (log.is_open()) log.note_waker(index, message);
    clock.wake(index);
  }
};

}  // namespace tisim
