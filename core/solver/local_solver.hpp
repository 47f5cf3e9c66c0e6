// Solves a large component only near the changes: see ADR 21.
//
// A constraint saturates at a *level*, and a variable's level (share times penalty) is the minimum
// of those of its constraints and of its limit. So a change of a constraint affects the variables
// that it limits, and these affect the other constraints that they cross, all at higher levels. The
// part to be solved starts with the variables whose flows have changed. While its level rises
// (local_part.hpp), variables outside join
//   - where a constraint would saturate below their levels: it limits them from now on;
//   - where a constraint does not saturate at the level of the last solution: it limited them
//     before.
// None joins below the current level. When all variables of the part have shares and no constraint
// has capacity left to distribute, the whole solution is max-min fair.
//
// The residual capacity of a constraint is kept between solutions (`Constraint::remaining`). For
// most constraints of the part nothing else is needed, once its shares have been found: they are
// idle, as they limit no variable and have capacity for the new shares. Only those that saturate,
// or did, are searched for variables that must join.
//
// With a tolerance, a constraint keeps its level as long as its use differs from its capacity by no
// more than that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "solver/component.hpp"
#include "solver/local_part.hpp"
#include "solver/resumption.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

class LocalSolver {
 public:
  // `tolerance`: relative deviation of a constraint's use from its capacity up to which it is not
  // solved again.
  LocalSolver(System& system, Component& component, KnownLevels& known, double precision,
              double tolerance)
      : system_(system),
        component_(component),
        precision_(precision),
        tolerance_(tolerance),
        part_(known, precision) {}

  // Returns false if no component has been large so far, so that local solving does not apply.
  bool any_large() const { return any_large_; }
  // Must be called before changes are solved, if any component was large.
  void begin_solution();
  // Returns false if solving this many simultaneous changes locally takes longer than together, or
  // if one of them could not be solved locally.
  bool is_worthwhile(std::size_t changes) const;
  // Solves near variables whose flows have changed; the shares are stored in the component, and the
  // variables' constraints need not be solved again. Returns false, without changing shares, if the
  // part would be large or has constraints that cannot be solved locally.
  bool solve(std::span<const std::int32_t> changed);

  // Minimum number of variables from which a component is solved in parts, derived from the sizes
  // of earlier parts.
  std::size_t least_component() const;
  // A component was solved whole: decays the mean size, so that solving in parts is retried later.
  void note_whole();
  // For tests, which have small components.
  void set_large(std::size_t variables) {
    least_ = variables;
    mean_size_ = 1.0;
    always_ = true;
  }

  // Marks the constraints of the component as part of a large one.
  void assume_large();
  // Returns true if a changed variable is part of a component recently found to be large.
  bool is_large(const Variable& variable) const;

  // Throws std::logic_error if the residual capacity of an idle constraint is wrong.
  void verify() const;

  // Number of parts solved.
  std::size_t solves() const { return solves_; }

 private:
  void note_departures();
  void depart(std::span<const std::int32_t> changed);
  void include(std::int32_t variable);
  void include_from(std::int32_t constraint, double level);
  void consider(std::int32_t constraint);
  void add_constraint(std::int32_t constraint);
  void use_idle(double sign);
  bool wake_exceeded();
  bool keeps_share(const LocalPart::Member& member) const;
  void examine(Constraint& constraint);
  bool settle_all();
  bool settle(std::size_t link);
  void release(std::size_t link, double from);
  bool include_squeezed(std::size_t link, double level);
  double saturates_at(const LocalPart::Link& link);
  void accept(std::span<const std::int32_t> changed);
  double level(const Variable& variable) const {
    return variable.share * system_.penalty(variable);
  }
  // Returns true if a constraint saturated in the last solution.
  static bool was_saturated(const Constraint& constraint) {
    return constraint.saturation_level >= 0 && constraint.saturation_level < kNotSaturated;
  }
  bool is_exceeded(const Constraint& constraint) const {
    return constraint.remaining <
           -constraint.capacity * std::max(tolerance_, tolerance::kSameLevel);
  }
  bool in_part(const Variable& variable) const { return component_.contains(variable); }

  System& system_;
  Component& component_;
  double precision_, tolerance_;
  LocalPart part_;
  Stack<Demand> demands_;
  Stack<std::int32_t> abandoned_;  // constraints of variables that have lost their flows
  Stack<std::int32_t> due_;        // links due at one level
  Stack<std::int32_t> joining_;    // variables of a constraint
  Stack<const Element*> others_;   // elements whose constraints are not known to be idle
  Stack<std::int32_t> exceeded_;   // possibly exceeded idle constraints
  Stack<std::int32_t> woken_;      // exceeded idle constraints
  bool possible_ = true;
  bool any_large_ = false;
  bool always_ = false;  // always worthwhile
  std::size_t least_ = 64;
  double mean_size_ = 64.0;
  std::size_t solves_ = 0;
  std::size_t effort_ = 0;  // effort of this solution, in variables of a component solved whole
};

}  // namespace tisim::max_min
