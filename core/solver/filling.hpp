// Progressive filling of a component.
//
// The level of all variables without a share rises together. The constraint with the least room for
// each unit of weight saturates next and fixes its variables at that level, after all those whose
// limits lie below it. Levels never fall. The thresholds at which a constraint counts as full are
// those of SimGrid's solver (kernel/lmm/maxmin.cpp).
//
// The class promises: afterwards every variable of the component has one share, listed in the order
// in which they were fixed or put in place, and (where that is kept) each constraint knows at which
// level it saturated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/component.hpp"
#include "solver/known_levels.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// The levels between which the solution of a bottleneck keeps its form. One that comes very close
// to them is left to the solver to decide about.
struct LevelRange {
  double lowest = 0.0;   // that of the last of the other variables
  double highest = 0.0;  // at which something else may hold back its variables
  bool contains(double level) const {
    return level > lowest * (1 + tolerance::kSameForm) &&
           level < highest * (1 - tolerance::kSameForm);
  }
};

// A constraint that all variables that are left wait for.
struct BottleneckProposal {
  std::int32_t constraint = -1;  // -1: there is none
  std::size_t first = 0;         // of the shares of its variables
  LevelRange range;
};

// The extent of a filling: a whole component from level 0, or only the variables at and above a
// level.
enum class Extent { whole, resumed };

class ProgressiveFilling {
 public:
  // From how many variables on a bottleneck is worth being kept as one.
  static constexpr std::size_t kSmallestBottleneck = 8;

  // `precision`: the part of a capacity below which nothing is left of it; limits that differ by
  // less are equal.
  ProgressiveFilling(System& system, Component& component, KnownLevels& known, double precision)
      : system_(system), component_(component), known_(known), precision_(precision) {}

  void fill(Extent extent);
  // From how many variables on shares are put in place; tests have small components.
  void set_many(std::size_t variables);
  // True if the last filling has left each share in place of the limit of its variable, but for
  // those that a bottleneck is made of: there are too many for a list.
  bool in_place() const { return in_place_; }
  // The bottleneck that the last filling ended with, if any.
  const BottleneckProposal& proposal() const { return proposal_; }

 private:
  void open_constraints();
  void keep_sums();
  void open(Constraint& constraint);
  void close(Constraint& constraint);
  void note_change(Constraint& constraint);
  void update_levels();
  double lowest_level() const;
  bool fix_bounded(double level);
  bool fix_below(double level);
  void saturate(double lowest);
  void fix_members(const Constraint& constraint, double level);
  bool saturate_last(Constraint& constraint, double level);
  void propose(const Constraint& constraint, double level);
  void fix(std::int32_t variable, double share);
  void put(std::int32_t index, Variable& variable, double share) {
    if (in_place_) {
      variable.limit = share;
    } else {
      component_.shares().push_back({index, share});
    }
  }
  double fatpipe_usage(const Constraint& constraint) const;

  System& system_;
  Component& component_;
  KnownLevels& known_;
  double precision_;
  Extent extent_ = Extent::whole;
  bool keeps_levels_ = false;  // for the next time
  bool in_place_ = false;
  std::size_t many_ = 1U << 13;  // variables: too many for a list
  BottleneckProposal proposal_;
  std::size_t unfixed_ = 0;      // variables without a share
  double lowest_limit_ = 0.0;    // none of these has its limit at a lower level
  double highest_fixed_ = 0.0;   // the highest level of a variable with a share
  bool closed_early_ = false;    // a constraint had nothing left for its variables
  bool sums_hold_ = true;        // all shares have been taken off what is left of constraints
  Stack<std::int32_t> waiting_;  // for the level of the constraint that saturates
  Stack<Constraint*> open_;      // those with variables to fix
  Stack<double> levels_;         // at which these saturate
  Stack<Constraint*> changed_;   // those on which something was fixed
};

}  // namespace tisim::max_min
