// The common tools of the MPI layer: time, ranks and their traces, the event log.
//
// This is how operations reach the rest of the simulation: through it they let ranks compute and
// sleep and wake them. They know nothing of the loop that moves the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock/clock.hpp"
#include "event_log/event_log.hpp"
#include "host/cpu.hpp"
#include "host/disks.hpp"
#include "mpi/jobs.hpp"
#include "mpi/rank.hpp"
#include "platform/model.hpp"

namespace tisim {

// Why a simulation returns to whoever runs it, and what the rank that runs asks for.
enum class Stop : std::uint8_t {
  done,            // every rank has finished, nothing is under way
  time,            // nothing more happens up to the given time
  pause,           // it has run for as long as allowed
  need_schedule,   // see `question()`, answer with `provide_schedule`
  need_route,      // see `missing_route()`, answer with `add_route`
  need_disk,       // see `asked_file()`, answer with `provide_disk`
  need_action,     // see `question()`: a custom action, answer with `resume` when it is over
  need_launch,     // see `question()`: a rank launches on its GPU, answer with `launch`
  completion,      // see `take_completions()`
  event_log_full,  // take what it has
  mismatch,        // ranks of a communicator call different collectives, see `mismatch()`
  disk_full,       // a rank writes what a disk or file system has no room for, see `full_disk()`
  deadlock         // ranks are left and nothing will ever happen by itself
};

// A rank's request.
struct Question {
  std::int32_t rank = -1;     // in the simulation
  std::int32_t comm = 0;      // index of the communicator
  std::int32_t number = 0;    // of the rank in it
  std::uint32_t call = 0;     // in the job's call table
  bool blocking = true;       // the collective
  Stage stage = Stage::none;  // of the making of a communicator
};

// Set while a rank runs; the interpreter then returns at once.
class Interruption {
 public:
  // A rank begins to run.
  void clear() { reason_ = Stop::done; }
  bool happened() const { return reason_ != Stop::done; }
  Stop reason() const { return reason_; }

  void interrupt(Stop reason) { reason_ = reason; }
  void ask_schedule(const Question& question) {
    question_ = question;
    reason_ = Stop::need_schedule;
  }
  void ask_action(const Question& question) {
    question_ = question;
    reason_ = Stop::need_action;
  }
  void ask_launch(const Question& question) {
    question_ = question;
    reason_ = Stop::need_launch;
  }
  void ask_route(std::int32_t rank) {
    question_.rank = rank;
    reason_ = Stop::need_route;
  }
  void ask_disk(std::int32_t rank) {
    question_.rank = rank;
    reason_ = Stop::need_disk;
  }
  // The last one that was asked.
  const Question& question() const { return question_; }

 private:
  Stop reason_ = Stop::done;
  Question question_;
};

// All ranks of a simulation, by their numbers in it.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // The number of the first of `count` new ones. References to ranks are no longer good.
  std::int32_t add(std::size_t count) {
    const std::size_t first = ranks_.size();
    ranks_.resize(first + count);
    return static_cast<std::int32_t>(first);
  }
  Rank& operator[](std::int32_t index) { return ranks_[static_cast<std::size_t>(index)]; }
  const Rank& operator[](std::int32_t index) const {
    return ranks_[static_cast<std::size_t>(index)];
  }
  std::size_t size() const { return ranks_.size(); }
  const std::vector<Rank>& all() const { return ranks_; }

 private:
  std::vector<Rank> ranks_;
};

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
