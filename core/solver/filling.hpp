// Progressive filling of a component.
//
// The level of all variables without a share rises together. The constraint with the least residual
// capacity per unit of weight saturates next and fixes its variables at that level, after all those
// with limits below it. Levels never fall. The thresholds at which a constraint counts as full are
// those of SimGrid's solver (kernel/lmm/maxmin.cpp).
//
// Invariant: afterwards every variable of the component has one share, listed in the order of
// fixing or stored in place, and each constraint has its saturation level (if levels are kept).
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/component.hpp"
#include "solver/known_levels.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// The levels between which the solution of a bottleneck keeps its form. Levels very close to the
// ends are left to the solver.
struct LevelRange {
  double lowest = 0.0;   // highest level of the other variables
  double highest = 0.0;  // level from which something else may constrain its variables
  bool contains(double level) const {
    return level > lowest * (1 + tolerance::kSameForm) &&
           level < highest * (1 - tolerance::kSameForm);
  }
};

// A constraint that limits all remaining variables.
struct BottleneckProposal {
  std::int32_t constraint = -1;  // -1: none
  std::size_t first = 0;         // index of its variables' first share
  LevelRange range;
};

// Extent of a filling: a whole component from level 0, or only the variables at and above a level.
enum class Extent { whole, resumed };

class ProgressiveFilling {
 public:
  // Minimum number of variables of a bottleneck.
  static constexpr std::size_t kMinBottleneckSize = 8;

  // `precision`: fraction of a capacity below which the rest counts as zero; limits that differ by
  // less are equal.
  ProgressiveFilling(System& system, Component& component, KnownLevels& known, double precision)
      : system_(system), component_(component), known_(known), precision_(precision) {}

  void fill(Extent extent);
  // Minimum number of variables from which shares are stored in place; tests use small values.
  void set_many(std::size_t variables);
  // Returns true if the last filling stored shares in place of the variables' limits, except those
  // of a bottleneck: there are too many for a list.
  bool in_place() const { return in_place_; }
  // The bottleneck at the end of the last filling, if any.
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
  bool keeps_levels_ = false;  // whether levels are kept for resuming
  bool in_place_ = false;
  std::size_t many_ = 1U << 13;  // variables, from which shares are in place
  BottleneckProposal proposal_;
  std::size_t unfixed_ = 0;      // variables without a share
  double lowest_limit_ = 0.0;    // lower bound of their limit levels
  double highest_fixed_ = 0.0;   // highest level of a variable with a share
  bool closed_early_ = false;    // a constraint was exhausted before all its variables had shares
  bool sums_hold_ = true;        // residual capacities account for all shares
  Stack<std::int32_t> waiting_;  // members of the saturating constraint
  Stack<Constraint*> open_;      // constraints with variables to fix
  Stack<double> levels_;         // saturation levels of `open_`
  Stack<Constraint*> changed_;   // constraints on which a share was fixed
};

}  // namespace tisim::max_min
