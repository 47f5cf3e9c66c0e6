// A large component is not solved whole but near what has changed: see ADR 21.
//
// A constraint saturates at a *level*, and a variable's level (share times penalty) is the least of
// those of its constraints and of its limit. So a change of a constraint moves the variables that
// it holds back, and these move the other constraints that they cross, all of them at higher
// levels. The part that is solved begins with the variables whose flows have changed. While its
// level rises (local_part.hpp), variables outside of it join
//   - where a constraint would saturate below their levels: it holds them back from now on;
//   - where it does not saturate at the level of the last solution: it held them back until now.
// Neither joins below the level that has been reached. When all variables of the part have shares
// and no constraint has anything left to give, the whole is max-min fair.
//
// What all variables use of a constraint is kept between solutions (`Constraint::remaining`). Of
// most constraints that the part crosses only this is needed, after its shares have been found:
// they are idle, as they hold back nobody and have room for the new shares. Only those that
// saturate, or did, are searched for variables that must join.
//
// With a tolerance, a constraint keeps its level as long as what is used of it differs from its
// capacity by no more than that.
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
  // `tolerance`: the part of a capacity by which constraints may be used more or less before
  // they are solved again.
  LocalSolver(System& system, Component& component, KnownLevels& known, double precision,
              double tolerance)
      : system_(system),
        component_(component),
        precision_(precision),
        tolerance_(tolerance),
        part_(known, precision) {}

  // False: no component has been large so far, so that there is nothing to solve locally.
  bool any_large() const { return any_large_; }
  // To be called before changes are solved for, if any component was large.
  void begin_solution();
  // False: as many changes of one instant take longer in parts than together, or one could not be
  // solved for in part.
  bool is_worthwhile(std::size_t changes) const;
  // Solves near variables whose flows have changed; the shares are those of the component, and the
  // constraints of the variables need not be solved again. False: the part would be large, or has
  // constraints that cannot be solved in part; no share has changed.
  bool solve(std::span<const std::int32_t> changed);

  // The number of variables from which on a component is worth being solved in parts, which follows
  // from the sizes of the parts that were solved.
  std::size_t least_component() const;
  // A component was solved whole: whether it could be in parts is tried again some day.
  void note_whole();
  // For tests, which have small components.
  void set_large(std::size_t variables) {
    least_ = variables;
    mean_size_ = 1.0;
    always_ = true;
  }

  // Takes the constraints of the component to be part of a large one.
  void assume_large();
  // True if a variable that has changed is part of a component that was large the last times.
  bool is_large(const Variable& variable) const;

  // Throws std::logic_error where the rest of an idle constraint is wrong.
  void verify() const;

  // Number of parts that have been solved.
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
  bool squeeze(std::size_t link, double level);
  double saturates_at(const LocalPart::Link& link);
  void accept(std::span<const std::int32_t> changed);
  double level(const Variable& variable) const {
    return variable.share * system_.penalty(variable);
  }
  // True if a constraint saturated in the last solution.
  static bool held_back(const Constraint& constraint) {
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
  Stack<std::int32_t> abandoned_;  // by variables that have no flows any more
  Stack<std::int32_t> due_;        // links to which something happens at one level
  Stack<std::int32_t> joining_;    // variables of a constraint
  Stack<const Element*> others_;   // of a variable: their constraints are not known to be idle
  Stack<std::int32_t> exceeded_;   // idle constraints, perhaps
  Stack<std::int32_t> woken_;      // those that are exceeded
  bool possible_ = true;
  bool any_large_ = false;
  bool always_ = false;  // worthwhile
  std::size_t least_ = 64;
  double mean_size_ = 64.0;
  std::size_t solves_ = 0;
  std::size_t effort_ = 0;  // of this solution, in variables of a component that is solved whole
};

}  // namespace tisim::max_min
