// Leaves out iterations of a program in a steady state: see ADR 31.
//
// A *period* lies between two boundaries. Boundaries follow turns of one rank's loop, the leader's,
// as soon as nothing happens for a while, so that what happens together is on one side of them. A
// program is in a steady state when the states at boundaries are the same, relative to their dates,
// and every rank has done the same in each period. Each rank then leaves out the repetitions of
// some periods, and gets what one period adds to its sums for each.
//
// After a skip, dates are too early; the clock says by how much.
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

// All that decides how a simulation goes on, relative to the present date: where ranks are, which
// messages and requests are under way, when what has begun will end.
//
// Two dates with equal states are followed by the same, as long as ranks go on to do the same.
// Numbers that a simulation gives (of messages, flows, requests) do not count: others may be given
// for the same state. Nor does the order of what happens together (ADR 12).

// The contents of a state.
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
  // To be made when all that was moved at an instant has been dated. It takes as long as there are
  // ranks, and messages and flows under way.
  BoundaryState(const StateSource& source, const LoopObserver& loops);

  // The work of making one, at most: ranks, requests, messages, channels.
  static std::uint64_t things_in(const StateSource& source) {
    return source.ranks.size() + source.mpi.requests.in_use() +
           source.mpi.matcher.messages().in_use() + source.mpi.matcher.channels();
  }

  // How many seconds what will end does so earlier or later than in another state, at most; none:
  // the states differ in more than that.
  std::optional<double> difference(const BoundaryState& other) const;

 private:
  // The pending ends, by what they are.
  struct End {
    std::uint64_t key = 0;
    double seconds = 0.0;  // from the date of the state on
  };

  void add_ends(const StateSource& source);

  std::uint64_t hash_ = 0;
  std::vector<End> ends_;  // in order
};

// The outcome of the search.
enum class SteadyEnd : std::uint8_t {
  none,      // it went on to the end
  no_loops,  // no trace says where its loops are
  obstacle,  // see `Obstacle`
  mismatch   // a period after skipped ones was not like those before
};

struct SteadyReport {
  SteadyEnd end = SteadyEnd::none;
  std::uint64_t skipped = 0;    // iterations of the leaders' loops
  std::uint64_t all = 0;        // of those loops
  double seconds = 0.0;         // that were not simulated
  std::uint64_t looked_at = 0;  // ranks, messages and so on, to find that
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
  // All is settled, and nothing happens before `date`.
  void pass(double date) {
    if (end_ != SteadyEnd::none || loops_.operations() < rests_to_) return;
    if (rests_to_ > 0) end_rest();
    if (compares_) look_for_ties(date);
    if (leader_ < 0 ? !loops_.has_turned() : loops_[leader_].turns == turns_) return;
    pass_turn(date);
  }
  SteadyReport report() const;

 private:
  // The totals of a rank, or those of one period.
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
    Sums sums, added;        // in all, and in the period before
    std::uint64_t left = 0;  // repetitions of its loop
    double turned = 0.0;     // seconds from its last turn to the boundary
  };

  double tie_margin(double date) const;
  void look_for_ties(double date);
  void decide_ties();
  void pass_turn(double date);
  bool is_at_boundary(double date);
  void follow(std::int32_t leader);
  void end_period();
  std::uint64_t looks() const;
  std::uint64_t most_looks() const;  // that are few beside the operations until now
  void end_rest();
  void forget_pauses();
  bool rests_after_much();
  void stop_for_good(SteadyEnd end);
  bool may_look() const;
  BoundaryState look();
  void compare();
  std::vector<Place> places() const;
  std::optional<double> difference(std::vector<Place>& next);
  std::optional<double> difference(const Place& before, const Place& next) const;
  bool may_decide_ties() const;
  void begin_again();
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

  std::int32_t leader_ = -1;     // whose turns begin periods
  std::uint64_t loop_ = 0;       // of the leader
  std::int32_t slower_ = -1;     // a rank whose loop turns less often, -1: none is known
  std::uint64_t turns_ = 0;      // of the leader at the last boundary
  std::size_t stride_ = 0;       // which of the numbers of turns in a period
  double gap_ = 0.0;             // seconds without events that a boundary needs
  double start_ = -1.0;          // of the period, negative: there has been no boundary
  double length_ = 0.0;          // of the period before, seconds; 0: there was none
  std::uint64_t unlike_ = 0;     // periods whose lengths differed, one after the other
  std::uint32_t pause_ = 1;      // periods without a comparison after the next failure
  std::uint32_t waits_ = 0;      // periods that are left of a pause
  std::uint64_t looked_at_ = 0;  // ranks, messages and so on, in all comparisons
  std::uint64_t rests_to_ = 0;   // operations before which ranks do not stop at turns

  bool compares_ = false;
  BoundaryState state_;        // at the last boundary
  std::vector<Place> places_;  // at the last boundary
  std::uint64_t communicators_ = 0;
  std::uint32_t equal_ = 0;     // periods that were equal, one after the other
  bool verifies_ = false;       // what follows skipped periods
  double drift_ = 0.0;          // seconds by which equal periods differed, at most
  std::uint32_t settling_ = 0;  // times that comparisons began again in the loop
  bool has_ties_ = false;       // rounding decides what happens together in the period
  bool joins_ties_ = false;     // what rounding could decide happens together in the period

  std::uint64_t skipped_ = 0;
  std::uint64_t all_ = 0;
  bool is_counted_ = false;  // the leader's loop, in `all_`
};

}  // namespace tisim
