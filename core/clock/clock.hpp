// The simulated time, what will happen at known dates, and who acts now.
//
// Whoever executes operations sees time through this class only: it wakes ranks, lets them sleep
// and dates events. `simulation/instant.hpp` moves it from instant to instant.
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

// Ranks, and ~ activities, that act at the present instant, in the order in which they were woken.
class ReadyQueue {
 public:
  bool empty() const { return next_ == owners_.size(); }
  void push(std::int32_t owner) { owners_.push_back(owner); }
  // Somebody who was taken from the queue goes on before all others.
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
  // Takes a random one of those that wait to act.
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
  // `precision`: seconds; dates that are closer are one instant, and no sleep is shorter.
  // `resources`: hosts and channels of disks.
  Clock(std::size_t resources, double precision)
      : precision_(precision), together_(precision), agenda_(resources) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  double now() const { return now_; }
  double precision() const { return precision_; }
  // Events dated less than so many seconds after an instant happen at it: the precision, but for
  // the few seconds with which SteadyStates tries another rounding of dates.
  double together() const { return together_; }
  void widen_instants(double seconds) { together_ = precision_ + seconds; }

  // Never goes back.
  void move_to(double date) { now_ = std::max(now_, date); }

  // The time as whoever is outside sees it: what was not simulated counts too.
  double date() const { return now_ + skipped_; }
  double skipped() const { return skipped_; }
  void skip(double seconds) { skipped_ += seconds; }

  Agenda& agenda() { return agenda_; }
  const Agenda& agenda() const { return agenda_; }
  ReadyQueue& ready() { return ready_; }
  const ReadyQueue& ready() const { return ready_; }

  // A rank (or ~ an activity) acts at this instant, after all that were woken before.
  void wake(std::int32_t owner) { ready_.push(owner); }
  void wake_after(double seconds, std::int32_t rank) {
    agenda_.push(now_ + seconds, EventType::wake_rank, rank);
  }
  // A sleep that begins now; it is dated by `date_sleeps`.
  void sleep(double seconds, std::int32_t rank) {
    sleeps_.emplace_back(now_ + std::max(seconds, precision_), rank);
  }
  // Dates the sleeps that began at this instant, the last one first: of sleeps that began together
  // and end together that which began last ends first, as in SimGrid (cpu_cas01.cpp,
  // Model::next_occurring_event_lazy).
  void date_sleeps() {
    if (!sleeps_.empty()) push_sleeps();
  }

  // Throws BrokenInvariant.
  void verify() const;

 private:
  void push_sleeps();

  double now_ = 0.0;      // seconds
  double skipped_ = 0.0;  // seconds that pass without being simulated (SteadyStates)
  double precision_;
  double together_;
  Agenda agenda_;
  ReadyQueue ready_;
  std::vector<std::pair<double, std::int32_t>> sleeps_;  // that began at this instant: end, rank
};

}  // namespace tisim
