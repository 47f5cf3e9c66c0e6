// Finds the max-min shares of a system (system.hpp states the problem) after its counts or
// capacities have changed, solving as little of it as possible.
//
// A change propagates only over constraints that are not slack. The component it reaches is solved
// by progressive filling (filling.hpp): from the first level that may differ from the last solution
// (resumption.hpp), or only near the change if it is large (local_solver.hpp). The solutions of
// small components are cached (share_cache.hpp); many variables limited by one constraint follow
// its level (bottlenecks.hpp).
//
// A worked example. Link A carries 100 bytes/s and link B 60. Two flows x cross A, one flow y
// crosses A and B, and one flow z crosses B. The penalty of x and y is 1 s and that of z is 2 s, so
// that at a common level l (bytes) x and y get l bytes/s each, and z gets l / 2.
//   1. A is full when 2 l + l = 100, at l = 33.3, and B when l + l / 2 = 60, at l = 40. A has the
//      lower level: it saturates first and fixes x and y at 33.3 bytes/s.
//   2. y leaves 26.7 bytes/s of B to z. B is full when l / 2 = 26.7, at l = 53.3: z gets 26.7.
// The shares x = y = 33.3 and z = 26.7 fill both links. They are max-min fair: no flow can get more
// without reducing one of the same or a lower level. (y has the level 33.3 and z 53.3: a flow is
// limited by the first link on its route that saturates.)
//
// Invariants: after `solve`, the shares in the system, and those given by the levels of
// bottlenecks, are the max-min solution for capacities that differ by at most the tolerance, within
// the tolerances of tolerances.hpp and the precision; nothing is dirty or stale; the listener has
// been notified of every change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/bottlenecks.hpp"
#include "solver/component.hpp"
#include "solver/filling.hpp"
#include "solver/known_levels.hpp"
#include "solver/listener.hpp"
#include "solver/local_solver.hpp"
#include "solver/resumption.hpp"
#include "solver/share_cache.hpp"
#include "solver/system.hpp"
#include "support/drawn_order.hpp"

namespace tisim {

class MaxMinSolver {
 public:
  // `precision`: fraction of a capacity below which the rest counts as zero (maxmin/precision).
  // `tolerance`: relative deviation of the use of links in large components up to which shares are
  // not recomputed (network/tolerance).
  MaxMinSolver(max_min::System& system, double precision, max_min::ShareListener& listener,
               double tolerance = 0.0);

  void solve();
  bool is_solved() const { return system_.touched().empty(); }

  // Drops cached solutions after a capacity or a type has changed.
  void forget_solutions() { cache_.clear(); }
  // Detaches the variable from its bottleneck, which is dissolved and solved again.
  void separate(std::int32_t variable);

#ifdef TISIM_VERIFY
  // Solves changes in a random order.
  void draw_order(std::uint32_t seed) { order_.draw(seed); }
#endif

  // Minimum number of variables from which a component is solved in part; tests use small values.
  void set_large(std::size_t variables) {
    local_.set_large(variables);
    component_.set_few_visits(variables);
    filling_.set_many(variables);
  }
  // Number of components filled or found in the cache, plus parts solved.
  std::size_t solves() const { return solves_ + local_.solves(); }

  // The rate of one flow, bytes/s, including variables of bottlenecks.
  double share(std::int32_t variable) const;

  // Throws std::logic_error if the shares are infeasible or not max-min fair, or the solver's state
  // is inconsistent. Requires that everything is solved.
  void verify() const;

 private:
  void shuffle_changes();
  void solve_locally();
  void solve_together();
  void set_dirty(const Stack<std::int32_t>& variables, bool dirty);
  void solve_component(std::int32_t seed);
  void fill_component();
  void publish(Stack<max_min::Share>& shares);
  void publish_in_place();
  bool accept(max_min::Share share, max_min::Share& before);
  void notify(const Stack<max_min::Share>& before, const max_min::Share* end);
  void publish_unconstrained();
  void publish_unconstrained(const std::int32_t* first, const std::int32_t* last);

  max_min::System& system_;
  max_min::ShareListener& listener_;
  double precision_, tolerance_;
  max_min::Component component_;
  max_min::KnownLevels known_;
  max_min::ProgressiveFilling filling_;
  max_min::Resumption resumption_;
  max_min::LocalSolver local_;
  max_min::Bottlenecks bottlenecks_;
  max_min::ShareCache cache_;
  double resume_level_ = 0.0;  // variables with lower levels keep their shares
  bool too_large_ = false;     // the changes affect too much of a large component
  std::size_t solves_ = 0;
  Stack<std::int32_t> solved_, left_;  // variables solved locally, and the others
  Stack<std::int32_t> together_;       // variables to be solved next
  [[no_unique_address]] DrawnOrder order_;
};

}  // namespace tisim
