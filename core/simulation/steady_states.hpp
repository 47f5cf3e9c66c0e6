// Skips iterations of a program in a steady state: see ADR 31.
//
// A *period* is the interval between two boundaries. A boundary follows a turn of the loop of one
// rank, the leader, at the next time without events, so that simultaneous events are on the same
// side of it. A program is in a steady state if the states at boundaries are equal, relative to
// their dates, and every rank has done the same in each period. Each rank then skips the
// repetitions of some periods, and its totals grow by one period's contribution for each.
//
// After a skip, dates are too early; the clock stores by how much.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "clock/clock.hpp"
#include "host/cpu.hpp"
#include "mpi/loop_observer.hpp"
#include "mpi/mpi.hpp"
#include "network/network.hpp"

namespace tisim {

// The state that determines how a simulation continues, relative to the current date: positions of
// the ranks, messages and requests in flight, and times of pending ends.
//
// Equal states at two dates have the same continuation as long as the ranks execute the same
// actions. Numbers allocated by a simulation (of messages, flows, requests) are excluded: they may
// differ for the same state. So is the order of simultaneous events (ADR 12).

// The objects that make up a state.
struct StateSource {
  Clock& clock;
  const Cpu& cpu;
  const Network& network;
  Ranks& ranks;
  const Mpi& mpi;
};

class BoundaryState {
 public:
  BoundaryState() = default;
  // Requires that all changes of the instant have been scheduled. Takes time proportional to the
  // number of ranks, messages in flight and flows.
  BoundaryState(const StateSource& source, const LoopObserver& loops);

  // Upper bound of the cost of making one: ranks, requests, messages, channels.
  static std::uint64_t items_in(const StateSource& source) {
    return source.ranks.size() + source.mpi.requests.in_use() +
           source.mpi.matcher.messages().in_use() + source.mpi.matcher.channels();
  }

  // Maximum difference in seconds between the pending ends of two states; none if the states differ
  // otherwise.
  std::optional<double> difference(const BoundaryState& other) const;

 private:
  // A pending end, identified by a key.
  struct End {
    std::uint64_t key = 0;
    double seconds = 0.0;  // seconds after the date of the state
  };

  void add_ends(const StateSource& source);

  std::uint64_t hash_ = 0;
  std::vector<End> ends_;  // sorted
};

// Outcome of the search for steady states.
enum class SteadyEnd : std::uint8_t {
  none,      // the search continued to the end
  no_loops,  // no trace has known loops
  obstacle,  // see `Obstacle`
  mismatch   // a period after a skip differed from those before
};

struct SteadyReport {
  SteadyEnd end = SteadyEnd::none;
  std::uint64_t skipped = 0;         // iterations skipped of the leaders' loops
  std::uint64_t all = 0;             // iterations of those loops
  double seconds = 0.0;              // not simulated
  std::uint64_t items_examined = 0;  // ranks, messages etc. examined in the search
  std::optional<Obstacle> obstacle;
};

class SteadyStates {
 public:
  // `tolerance`: of times, relative to the length of a period.
  SteadyStates(double tolerance, const StateSource& source)
      : tolerance_(tolerance), source_(source), loops_(source.clock) {}
  SteadyStates(const SteadyStates&) = delete;
  SteadyStates& operator=(const SteadyStates&) = delete;

  LoopObserver& loops() { return loops_; }
  // Called when all is settled and nothing happens before `date`.
  void pass(double date) {
    if (end_ != SteadyEnd::none || loops_.operations() < suspended_until_) return;
    if (suspended_until_ > 0) end_suspension();
    if (compares_) check_for_ties(date);
    if (leader_ < 0 ? !loops_.has_passed_turn() : loops_[leader_].turns == turns_) return;
    pass_turn(date);
  }
  SteadyReport report() const;

 private:
  // The totals of a rank, or of one period.
  struct Sums {
    std::uint64_t turns = 0, actions = 0, messages = 0;
    std::int64_t bytes = 0;
    double compute = 0.0, other = 0.0;  // seconds

    Sums plus(std::uint64_t times, const Sums& more) const;
    Sums minus(const Sums& less) const;
    bool counts_like(const Sums& other) const;
  };
  // A rank at a boundary.
  struct Place {
    Sums sums, added;        // total, and in the last period
    std::uint64_t left = 0;  // remaining repetitions of its loop
    double turned = 0.0;     // seconds from its last turn to the boundary
  };

  double tie_margin(double date) const;
  void check_for_ties(double date);
  void decide_ties();
  void pass_turn(double date);
  bool is_at_boundary(double date);
  void follow(std::int32_t leader);
  void end_period();
  std::uint64_t cost() const;
  std::uint64_t budget() const;  // few items compared with the operations so far
  void end_suspension();
  void reset_back_off();
  bool suspend_if_over_budget();
  void end_search(SteadyEnd end);
  bool can_afford_comparison() const;
  BoundaryState capture_state();
  void compare();
  std::vector<Place> places() const;
  std::optional<double> difference(std::vector<Place>& next);
  std::optional<double> difference(const Place& before, const Place& next) const;
  bool may_decide_ties() const;
  void restart_comparison();
  void stop_comparing();
  void give_up();
  void change_stride();
  std::uint64_t periods_left() const;
  std::uint64_t periods_to_skip() const;
  void skip(std::uint64_t periods);

  double tolerance_;
  StateSource source_;
  LoopObserver loops_;
  SteadyEnd end_ = SteadyEnd::none;

  std::int32_t leader_ = -1;           // the rank whose turns begin periods
  std::uint64_t loop_ = 0;             // number of the leader's loop
  std::int32_t slower_ = -1;           // a rank whose loop turns less often, or -1
  std::uint64_t turns_ = 0;            // turns of the leader at the last boundary
  std::size_t stride_ = 0;             // index into `kStrides`
  double gap_ = 0.0;                   // event-free seconds required at a boundary
  double start_ = -1.0;                // start of the period; negative: no boundary yet
  double length_ = 0.0;                // length of the last period, seconds; 0: none
  std::uint64_t unequal_periods_ = 0;  // consecutive periods of different lengths
  std::uint32_t pause_ = 1;  // periods without comparison after the next failure (back-off)
  std::uint32_t waits_ = 0;  // periods left in the current pause
  std::uint64_t items_examined_ = 0;   // ranks, messages etc. in all comparisons
  std::uint64_t suspended_until_ = 0;  // operations before which ranks do not stop at turns

  bool compares_ = false;
  BoundaryState state_;        // state at the last boundary
  std::vector<Place> places_;  // rank positions at the last boundary
  std::uint64_t communicators_ = 0;
  std::uint32_t equal_ = 0;     // consecutive equal periods
  bool verifies_ = false;       // whether it checks the periods after a skip
  double drift_ = 0.0;          // maximum difference between equal periods, seconds
  std::uint32_t restarts_ = 0;  // times that comparisons restarted in the loop
  bool has_ties_ = false;       // rounding decides which events coincide in the period
  bool joins_ties_ = false;     // events that rounding could separate coincide in the period

  std::uint64_t skipped_ = 0;
  std::uint64_t all_ = 0;
  bool is_counted_ = false;  // the leader's loop, in `all_`
};

}  // namespace tisim
