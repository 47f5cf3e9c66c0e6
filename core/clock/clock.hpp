// The simulated time, the agenda of future events, and the queue of ranks ready to act.
//
// Code that executes operations sees time only through this class: it wakes ranks, puts them to
// sleep and schedules events. `simulation/instant.hpp` advances it from instant to instant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "clock/agenda.hpp"
#include "support/drawn_order.hpp"
#include "support/stack.hpp"

namespace tisim {

// Ranks, and ~ activities, that act at the current instant, in the order in which they were woken.
class ReadyQueue {
 public:
  bool empty() const { return next_ == owners_.size(); }
  void push(std::int32_t owner) { owners_.push_back(owner); }
  // Puts an owner taken from the queue back at the front.
  void put_first(std::int32_t owner) {
    if (next_ == 0) throw std::logic_error("nobody was taken from the ready queue");
    owners_[--next_] = owner;
  }
  std::int32_t take() {
    order_.choose(owners_, next_);
    return owners_[next_++];
  }
  // Empties the queue after all have acted.
  void clear() {
    owners_.clear();
    next_ = 0;
  }

#ifdef TISIM_VERIFY
  // Takes a random entry of the queue instead of the first.
  void draw_order(std::uint32_t seed) { order_.draw(seed); }
#endif

  // Throws BrokenInvariant.
  void verify() const;

 private:
  Stack<std::int32_t> owners_;
  std::size_t next_ = 0;
  [[no_unique_address]] DrawnOrder order_;
};

class Clock {
 public:
  // `precision`: seconds; closer dates are the same instant, and no sleep is shorter.
  // `resources`: number of hosts plus disk channels.
  Clock(std::size_t resources, double precision)
      : precision_(precision), together_(precision), agenda_(resources) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  double now() const { return now_; }
  double precision() const { return precision_; }
  // Events dated less than this many seconds after an instant are part of it: the precision, plus
  // the slack with which SteadyStates tries another rounding of dates.
  double together() const { return together_; }
  void widen_instants(double seconds) { together_ = precision_ + seconds; }

  // Never moves backwards.
  void move_to(double date) { now_ = std::max(now_, date); }

  // The time visible outside the core: includes time skipped without simulation.
  double date() const { return now_ + skipped_; }
  double skipped() const { return skipped_; }
  void skip(double seconds) { skipped_ += seconds; }

  Agenda& agenda() { return agenda_; }
  const Agenda& agenda() const { return agenda_; }
  ReadyQueue& ready() { return ready_; }
  const ReadyQueue& ready() const { return ready_; }

  // The rank (or ~ activity) acts at this instant, after all owners woken before.
  void wake(std::int32_t owner) { ready_.push(owner); }
  void wake_after(double seconds, std::int32_t rank) {
    agenda_.push(now_ + seconds, EventType::wake_rank, rank);
  }
  // Starts a sleep at the current time; `date_sleeps` adds it to the agenda.
  void sleep(double seconds, std::int32_t rank) {
    sleeps_.emplace_back(now_ + std::max(seconds, precision_), rank);
  }
  // Schedules the sleeps that began at this instant in reverse order: of sleeps that begin and end
  // together, the last to begin ends first, as in SimGrid (cpu_cas01.cpp,
  // Model::next_occurring_event_lazy).
  void date_sleeps() {
    if (!sleeps_.empty()) push_sleeps();
  }

  // Throws BrokenInvariant.
  void verify() const;

 private:
  void push_sleeps();

  double now_ = 0.0;      // seconds
  double skipped_ = 0.0;  // seconds passed without simulation (SteadyStates)
  double precision_;
  double together_;
  Agenda agenda_;
  ReadyQueue ready_;
  std::vector<std::pair<double, std::int32_t>> sleeps_;  // begun at this instant: end, rank
};

}  // namespace tisim
