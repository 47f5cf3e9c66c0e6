// Why a simulation returns to whoever runs it, and what the rank that runs asks for.
#pragma once

#include <cstdint>

#include "mpi/rank/rank.hpp"

namespace tisim {

enum class Stop : std::uint8_t {
  done,            // every rank has finished, nothing is under way
  time,            // nothing more happens up to the given time
  pause,           // it has run for as long as allowed
  need_schedule,   // see `question()`, answer with `provide_schedule`
  need_route,      // see `missing_route()`, answer with `add_route`
  need_disk,       // see `asked_file()`, answer with `provide_disk`
  need_action,     // see `question()`: a custom action, answer with `resume` when it is over
  completion,      // see `take_completions()`
  event_log_full,  // take what it has
  mismatch,        // ranks of a communicator call different collectives, see `mismatch()`
  disk_full,       // a rank writes what a disk or file system has no room for, see `full_disk()`
  deadlock         // ranks are left and nothing will ever happen by itself
};

// What a rank asks for.
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

}  // namespace tisim
