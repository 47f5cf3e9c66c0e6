// Shared services of the MPI layer: time, ranks and their traces, the event log.
//
// Operations reach the rest of the simulation only through them, to let ranks compute or sleep and
// to wake them. They do not depend on the loop that advances the clock.
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

// Why a simulation returns to its caller, and what the running rank requests.
enum class Stop : std::uint8_t {
  done,            // all ranks have finished, nothing is in flight
  time,            // nothing more happens up to the given date
  pause,           // the allowed time is over
  need_schedule,   // see `question()`, answer with `provide_schedule`
  need_route,      // see `missing_route()`, answer with `add_route`
  need_disk,       // see `asked_file()`, answer with `provide_disk`
  need_action,     // see `question()`: a custom action, answer with `resume` when it has ended
  need_launch,     // see `question()`: a rank launches on its GPU, answer with `launch`
  completion,      // see `take_completions()`
  event_log_full,  // take its records
  mismatch,        // ranks of a communicator call different collectives, see `mismatch()`
  disk_full,       // a write does not fit on a disk or file system, see `full_disk()`
  deadlock         // some ranks have not finished, and no event can wake them
};

// A request of a rank to Python.
struct Question {
  std::int32_t rank = -1;     // global rank
  std::int32_t comm = 0;      // index of the communicator
  std::int32_t number = 0;    // rank in the communicator
  std::uint32_t call = 0;     // index in the job's call table
  bool blocking = true;       // whether the collective is blocking
  Stage stage = Stage::none;  // stage of a communicator creation
};

// Set while a rank runs; makes the interpreter return at once.
class Interruption {
 public:
  // Called when a rank begins to run.
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
  // The last question asked.
  const Question& question() const { return question_; }

 private:
  Stop reason_ = Stop::done;
  Question question_;
};

// All ranks of a simulation, by global number.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Adds `count` ranks and returns the number of the first. Invalidates references to ranks.
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

  // Puts the rank into `phase` until the time has passed.
  void sleep(Rank& rank, std::int32_t index, double seconds, Phase phase) const {
    rank.phase = phase;
    clock.sleep(seconds, index);
  }
  void compute(Rank& rank, std::int32_t index, double flops, Phase phase) const {
    rank.phase = phase;
    cpu.start(rank.host, flops, index, clock.now());
  }
  // Wakes a rank because a message has arrived.
  void wake_by(std::int32_t message, std::int32_t index) const {
    if (log.is_open()) log.note_waker(index, message);
    clock.wake(index);
  }
};

}  // namespace tisim
