// A large component is not solved whole but near what has changed: see ADR 21.
//
// A constraint saturates at a *level*, and a variable's level (share times penalty) is the least of
// those of its constraints and of its limit. So a change of a constraint moves the variables that
// it holds back, and these move the other constraints that they cross. The part that is solved
// grows until nothing outside of it can move: no variable outside is above the level of a
// constraint that the part crosses, and none waits for such a constraint that now saturates at a
// higher level, or has room. Then the whole is max-min fair.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/component.hpp"
#include "solver/filling.hpp"
#include "solver/resumption.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

class LocalSolver {
 public:
  // Members of a constraint whose change is not solved locally: it may well become a bottleneck.
  static constexpr std::int32_t kMostMembers = 32;

  LocalSolver(System& system, Component& component, ProgressiveFilling& filling,
              Resumption& resumption)
      : system_(system), component_(component), filling_(filling), resumption_(resumption) {}

  // Solves near the constraint `seed`; the shares are those of the component. False: that cannot be
  // done, and no share has changed.
  bool solve(std::int32_t seed);
  // The constraints of the solution need not be solved again; their component is taken to be large
  // so many times.
  void accept(int assumed_large);

  // Number of parts that have been filled up.
  std::size_t fillings() const { return fillings_; }

 private:
  // The levels at which a constraint that the part crosses saturated before, and of those of its
  // variables that are not in the part.
  struct Levels {
    double before = 0.0, outside = 0.0;
  };

  bool examine_constraints();
  bool examine(Constraint& constraint, double& before);
  void include(std::int32_t variable);
  bool include_from(const Constraint& constraint, double level);
  void sum_up();
  double sum_up_constraint(Constraint& constraint);
  bool extend();

  System& system_;
  Component& component_;
  ProgressiveFilling& filling_;
  Resumption& resumption_;
  std::size_t examined_ = 0;  // constraints of the component
  Stack<Levels> levels_;      // of those
  std::size_t fillings_ = 0;
};

}  // namespace tisim::max_min
