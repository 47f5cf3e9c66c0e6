// Finds the max-min shares of a system (system.hpp states the problem) after its counts or
// capacities have changed, and solves no more of it than it must.
//
// A change is propagated over constraints that are not slack only. What it reaches is a component,
// which is filled up progressively (filling.hpp): from the level on at which something may differ
// from the last time (resumption.hpp), or only near the change when it is large
// (local_solver.hpp). The solutions of small components are kept (share_cache.hpp); many variables
// that wait for one constraint follow its level (bottlenecks.hpp).
//
// The class promises: after `solve` the shares in the system, and those that follow from the levels
// of bottlenecks, are the max-min solution within the tolerances of tolerances.hpp and the
// precision; nothing is dirty or stale; the listener has been told of every change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/bottlenecks.hpp"
#include "solver/component.hpp"
#include "solver/filling.hpp"
#include "solver/listener.hpp"
#include "solver/local_solver.hpp"
#include "solver/resumption.hpp"
#include "solver/share_cache.hpp"
#include "solver/system.hpp"
#include "support/drawn_order.hpp"

namespace tisim {

class MaxMinSolver {
 public:
  // `precision`: the part of a capacity below which nothing is left of it (maxmin/precision).
  MaxMinSolver(max_min::System& system, double precision, max_min::ShareListener& listener);

  void solve();
  bool is_solved() const { return system_.touched().empty(); }

  // The solutions of the past are out of date: a capacity or a type has changed.
  void forget_solutions() { cache_.clear(); }
  // The variable follows no bottleneck any more. It is solved for again, with all that did.
  void separate(std::int32_t variable);

#ifdef TISIM_VERIFY
  // What has changed is solved for in a drawn order.
  void draw_order(std::uint32_t seed) { order_.draw(seed); }
#endif

  // From how many variables on a component is not solved whole; tests have small ones.
  void set_large(std::size_t variables) { large_ = variables; }
  // Components that have been filled up, or found in the cache.
  std::size_t solves() const { return solves_ + local_.fillings(); }

  // Of one flow, bytes/s, whether its variable follows a bottleneck or not.
  double share(std::int32_t variable) const;

  // Throws std::logic_error where the shares are not feasible or not max-min, or the state of the
  // solver is inconsistent. To be called when everything is solved.
  void verify() const;

 private:
  void shuffle_changes();
  void solve_component(std::int32_t seed);
  void fill_component();
  void publish(Stack<max_min::Share>& shares);
  bool accept(max_min::Share share, max_min::Share& before);
  void tell(const Stack<max_min::Share>& before, const max_min::Share* end);
  void publish_unconstrained();

  max_min::System& system_;
  max_min::ShareListener& listener_;
  double precision_;
  max_min::Component component_;
  max_min::ProgressiveFilling filling_;
  max_min::Resumption resumption_;
  max_min::LocalSolver local_;
  max_min::Bottlenecks bottlenecks_;
  max_min::ShareCache cache_;
  double resume_level_ = 0.0;  // variables with lower levels keep their shares
  std::size_t large_ = 512;
  std::size_t solves_ = 0;
  [[no_unique_address]] DrawnOrder order_;
};

}  // namespace tisim
