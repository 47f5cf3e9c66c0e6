#include "solver/component.hpp"

#include <algorithm>

#include "solver/bottlenecks.hpp"

namespace tisim::max_min {

namespace {
// Marks are reset after this number.
constexpr std::uint32_t kLastMark = 0xf0000000U;
}  // namespace

void Component::begin_solution() {
  if (mark_ > kLastMark) {
    mark_ = 0;
    system_.forget_marks();
  }
  first_mark_ = mark_ + 2;
}

void Component::begin() {
  mark_ += 2;
  variables_.clear();
  constraints_.clear();
  known_.clear();
  to_clean_.clear();
  lowest_limit_ = kNotSaturated;
  kept_ = 0;
}

void Component::clear_sums(Constraint& constraint) {
  constraint.remaining = constraint.capacity;
  constraint.usage = 0.0;
  constraint.unfixed = 0;
  constraint.slot = -1;
  constraint.changed = false;
  constraint.updates = 0;
}

void Component::reach(std::int32_t index) {
  Constraint& constraint = system_.constraint(index);
  known_.push_back({constraint.saturation_level, constraint.remaining, constraint.updates});
  constraint.saturation_level = kUnknownLevel;
  if (constraint.updates > 0) system_.set_idle(index, false);
  clear_sums(constraint);
  add_constraint(index);
}

// Restores the state of a constraint, which local solving needs.
void Component::put_back(std::size_t place) {
  Constraint& constraint = system_.constraint(constraints_[place]);
  constraint.saturation_level = known_[place].saturation_level;
  constraint.remaining = known_[place].remaining;
  constraint.updates = known_[place].updates;
}

void Component::put_back_all() {
  for (std::size_t i = 0; i < constraints_.size(); ++i) put_back(i);
}

bool Component::gather(std::int32_t seed, std::size_t most, double& resume_level,
                       Bottlenecks& bottlenecks) {
  begin();
  reach(seed);
  std::size_t visits = 0;
  for (std::size_t next = 0; next < constraints_.size(); ++next) {
    Constraint& constraint = system_.constraint(constraints_[next]);
    visits += constraint.members.size();
    if (visits > std::max(system_.variables() / 4, few_visits_) && most > system_.variables() &&
        !bottlenecks.any()) {
      put_back_all();
      allow_again();
      gather_all(resume_level);
      break;
    }
    if (System::has_many_idle_members(constraint)) to_clean_.push_back(&constraint);
    if (!gather_members(constraint, resume_level, bottlenecks)) {
      allow_again();
      return gather(seed, most, resume_level, bottlenecks);
    }
    if (variables_.size() + kept_ > most && !bottlenecks.any_dissolved()) {
      put_back_all();
      return false;
    }
  }
  for (Constraint* constraint : to_clean_) system_.remove_idle_members(*constraint);
  return true;
}

// Gathers all variables and constraints not solved yet, each once, in memory order.
void Component::gather_all(double resume_level) {
  begin();
  for (std::size_t i = 0; i < system_.constraints(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    Constraint& constraint = system_.constraint(index);
    if (constraint.count == 0 || was_gathered(constraint)) continue;
    // A constraint that has just become slack may have constrained variables that can get more now.
    if (system_.slack(constraint) && !constraint.dirty) continue;
    reach(index);
    if (System::has_many_idle_members(constraint)) to_clean_.push_back(&constraint);
  }
  Constraint* const constraints = system_.constraint_array();
  for (std::size_t i = 0; i < system_.variables(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Variable& variable = system_.variable(index);
    if (variable.mark >= first_mark_ || variable.count == 0) continue;
    const VariableType& type = system_.type_of(variable);
    const bool keeps = !variable.stale && variable.share * type.penalty < resume_level;
    const double usage = type.priority * variable.count;
    bool is_member = false;
    for (const Element& element : system_.elements(variable, type)) {
      Constraint& reached = constraints[element.constraint];
      if (!contains(reached)) continue;
      is_member = true;
      if (keeps) {
        reached.remaining -= system_.weight(element) * variable.share * variable.count;
      } else {
        reached.usage += system_.weight(element) * usage;
        ++reached.unfixed;
      }
    }
    if (!is_member) continue;
    if (keeps) {
      ++kept_;
    } else {
      add_variable(index);
      lowest_limit_ = std::min(lowest_limit_, variable.limit * type.penalty);
    }
  }
  if (resume_level > 0) leave_out_kept();
}

// Removes the constraints all of whose variables keep their shares: they are unchanged.
void Component::leave_out_kept() {
  std::size_t left = 0;
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    const std::int32_t index = constraints_[i];
    if (system_.constraint(index).unfixed > 0) {
      constraints_[left++] = index;
    } else {
      put_back(i);
      system_.constraint(index).visit = 0;
    }
  }
  constraints_.resize(left, -1);
}

// Returns false if a bottleneck was dissolved, so that the choice of variables that keep their
// shares is invalid.
bool Component::gather_members(Constraint& constraint, double& resume_level,
                               Bottlenecks& bottlenecks) {
  Constraint* const constraints = system_.constraint_array();
  const std::uint32_t first_mark = first_mark_;
  for (const Member member : constraint.members) {
    Variable& variable = system_.variable(member.variable);
    if (variable.mark >= first_mark || variable.count == 0) continue;
    if (variable.bottleneck >= 0) {
      bottlenecks.dissolve(variable.bottleneck);
      if (resume_level > 0) {
        resume_level = 0.0;
        return false;
      }
    }
    const VariableType& type = system_.type_of(variable);
    if (!variable.stale && variable.share * type.penalty < resume_level) {
      ++kept_;
      constraint.remaining -= system_.weight(constraint, member) * variable.share * variable.count;
      continue;
    }
    add_variable(member.variable);
    lowest_limit_ = std::min(lowest_limit_, variable.limit * type.penalty);
    const double usage = type.priority * variable.count;
    for (const Element& element : system_.elements(variable, type)) {
      Constraint& reached = constraints[element.constraint];
      if (reached.visit < first_mark) {
        if (system_.slack(reached)) continue;
        reach(element.constraint);
      }
      reached.usage += system_.weight(element) * usage;
      ++reached.unfixed;
    }
  }
  return true;
}

}  // namespace tisim::max_min
