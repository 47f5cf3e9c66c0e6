#include "solver/local_solver.hpp"

#include <algorithm>

namespace tisim::max_min {

bool LocalSolver::solve(std::int32_t seed) {
  component_.begin();
  component_.add_constraint(seed);
  examined_ = 0;
  levels_.clear();
  bool possible = examine_constraints();
  for (bool grows = true; possible && grows;) {
    ++fillings_;
    const std::size_t count = component_.variables().size();
    sum_up();
    component_.shares().clear();
    filling_.fill(Extent::local);
    for (const std::int32_t index : component_.variables()) {
      component_.mark_unfixed(system_.variable(index));
    }
    possible = extend() && examine_constraints();
    grows = component_.variables().size() > count;
  }
  component_.allow_again();
  if (!possible) {
    // The levels found on the way are not those of a solution.
    for (const std::int32_t index : component_.constraints()) {
      system_.constraint(index).saturation_level = kUnknownLevel;
    }
  }
  return possible;
}

void LocalSolver::accept(int assumed_large) {
  for (const std::int32_t index : component_.constraints()) {
    system_.constraint(index).dirty = false;
    system_.constraint(index).assumed_large = static_cast<std::uint8_t>(assumed_large);
  }
}

bool LocalSolver::examine_constraints() {
  for (; examined_ < component_.constraints().size(); ++examined_) {
    Levels levels;
    if (!examine(system_.constraint(component_.constraints()[examined_]), levels.before)) {
      return false;
    }
    levels_.push_back(levels);
  }
  return true;
}

// Finds out at which level a constraint saturated, and which of its variables must move if it has
// changed.
bool LocalSolver::examine(Constraint& constraint, double& before) {
  if (constraint.bottleneck >= 0 || constraint.fatpipe) return false;
  double taken = 0.0;
  double top = 0.0;
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.bottleneck >= 0) return false;
    if (variable.solved_count == 0) continue;
    taken += system_.weight(member) * variable.share * variable.solved_count;
    top = std::max(top, variable.share * system_.penalty(variable));
  }
  before = taken >= constraint.capacity * (1 - tolerance::kUnused) ? top : kNotSaturated;
  if (static_cast<std::size_t>(constraint.count) < constraint.members.size()) {
    system_.remove_idle_members(constraint);
  }
  if (!constraint.dirty && examined_ > 0) return true;
  const double level =
      system_.slack(constraint) ? before : resumption_.saturates_at(constraint, before);
  for (const Member& member : constraint.members) {
    if (system_.variable(member.variable).stale) include(member.variable);
  }
  return include_from(constraint, level * (1 - tolerance::kSameLevel));
}

// The variables of a constraint from a level on. False: they may be too many to be a part.
bool LocalSolver::include_from(const Constraint& constraint, double level) {
  if (level == kNotSaturated) return true;
  if (constraint.count > kMostMembers) return false;
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.share * system_.penalty(variable) >= level) include(member.variable);
  }
  return true;
}

void LocalSolver::include(std::int32_t index) {
  const Variable& variable = system_.variable(index);
  if (component_.contains(variable) || variable.count == 0) return;
  component_.add_variable(index);
  for (const Element& element : system_.elements(variable)) {
    const Constraint& constraint = system_.constraint(element.constraint);
    if (component_.contains(constraint) || (system_.slack(constraint) && !constraint.dirty)) {
      continue;
    }
    component_.add_constraint(element.constraint);
  }
}

// Sums the weights of the part on each constraint, and the capacity that all others leave to it.
void LocalSolver::sum_up() {
  component_.forget_limits();
  for (const std::int32_t index : component_.variables()) {
    const Variable& variable = system_.variable(index);
    component_.note_limit(variable.limit * system_.penalty(variable));
  }
  for (std::size_t i = 0; i < component_.constraints().size(); ++i) {
    levels_[i].outside = sum_up_constraint(system_.constraint(component_.constraints()[i]));
  }
}

// The highest level of a variable of the constraint that is not in the part.
double LocalSolver::sum_up_constraint(Constraint& constraint) {
  Component::clear_sums(constraint);
  double outside = 0.0;
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.count == 0) continue;
    const double weight = system_.weight(member) * variable.count;
    if (component_.contains(variable)) {
      constraint.usage += weight * system_.priority(variable);
      ++constraint.unfixed;
    } else {
      constraint.remaining -= weight * variable.share;
      outside = std::max(outside, variable.share * system_.penalty(variable));
    }
  }
  return outside;
}

// Takes in the variables outside that may move. False: they may be too many.
bool LocalSolver::extend() {
  constexpr double kSame = tolerance::kSameLevel;
  const std::size_t count = component_.constraints().size();
  for (std::size_t i = 0; i < count; ++i) {
    const Constraint& constraint = system_.constraint(component_.constraints()[i]);
    const double outside = levels_[i].outside;
    if (outside <= 0 || system_.slack(constraint)) continue;
    const double full = constraint.saturation_level;
    const double before = levels_[i].before * (1 - kSame);
    double from = kNotSaturated;
    if (full == kUnknownLevel) {
      from = 0.0;
    } else {
      // Whom it held back may have more, and nobody has more than whom it holds back.
      if (before < full * (1 - 2 * kSame)) from = before;
      if (full * (1 + kSame) < outside) from = std::min(from, full * (1 + kSame));
    }
    if (from <= outside && !include_from(constraint, from)) return false;
  }
  return true;
}

}  // namespace tisim::max_min
