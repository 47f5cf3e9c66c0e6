// Whether the system agrees with itself.

#include <algorithm>
#include <cmath>
#include <string>

#include "solver/system.hpp"
#include "support/invariant.hpp"

namespace tisim::max_min {

namespace {
// What members, counts and so on of one constraint or variable say.
void ensure_of(bool holds, const char* kind, std::int32_t index, const char* what) {
  if (!holds) throw BrokenInvariant(kind + std::to_string(index) + ": " + what);
}
}  // namespace

void System::verify() const {
  ensure(pending_ == elements_.size(), "elements belong to no variable");
  std::vector<std::size_t> listed(constraints_.size());
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    verify_variable(static_cast<std::int32_t>(i), listed);
  }
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    ensure_of(constraints_[i].members.size() == listed[i], "constraint ", index,
              "its members are not the variables that say so");
    verify_constraint(index);
  }
  for (const std::int32_t index : dirty_) {
    ensure_of(index >= 0 && static_cast<std::size_t>(index) < constraints_.size(), "constraint ",
              index, "it is dirty but does not exist");
  }
}

void System::verify_variable(std::int32_t index, std::vector<std::size_t>& listed) const {
  const Variable& variable = this->variable(index);
  ensure_of(variable.type < types_.size(), "variable ", index, "its type does not exist");
  const VariableType& type = type_of(variable);
  const std::size_t end = static_cast<std::size_t>(variable.elements) + type.elements;
  ensure_of(variable.elements >= 0 && end <= elements_.size(), "variable ", index,
            "its elements do not exist");
  ensure_of(variable.count >= 0, "variable ", index, "it has fewer than no flows");
  ensure_of(type.penalty > 0 && type.priority == 1.0 / type.penalty, "variable ", index,
            "its priority is not the inverse of its penalty");
  for (const Element& element : elements(variable)) {
    ensure_of(element.weight < weights_.size(), "variable ", index, "a weight does not exist");
    ensure_of(element.listed || variable.count == 0, "variable ", index,
              "it has flows but is no member of a constraint");
    if (element.listed) ++listed[static_cast<std::size_t>(element.constraint)];
  }
  if (variable.count == 0) return;
  const double limit = demand(variable.count, type) / variable.count;
  ensure_of(std::abs(variable.limit - limit) <= tolerance::kRunningSum * std::abs(limit),
            "variable ", index, "its limit is not that of its type and count");
}

void System::verify_constraint(std::int32_t index) const {
  const Constraint& constraint = this->constraint(index);
  std::int32_t count = 0;
  double most = 0.0;
  for (const Member& member : constraint.members) {
    const Variable& variable = this->variable(member.variable);
    const std::span<const Element> way = elements(variable);
    ensure_of(member.place < way.size() && way[member.place].constraint == index &&
                  way[member.place].weight == member.weight && way[member.place].listed,
              "constraint ", index, "a member has no such element");
    if (variable.count == 0) continue;
    ++count;
    most += weight(member) * demand(variable.count, type_of(variable));
    if (!constraint.fatpipe) continue;
    const FatPipe& pipe = pipes_[static_cast<std::size_t>(constraint.pipe_or_bottleneck)];
    const VariableType& type = type_of(variable);
    ensure_of(pipe.highest_level >= type.bound / type.priority &&
                  pipe.weight_bound >= weight(member) * type.priority,
              "constraint ", index, "a flow exceeds the bounds of the fat pipe");
  }
  ensure_of(constraint.count == count, "constraint ", index,
            "its count is not that of its members with flows");
  if (constraint.fatpipe) return;
  // A running sum is off by what rounding has left of larger sums.
  const double off = std::abs(constraint.demand - most);
  ensure_of(off <= tolerance::kVerified * (most + constraint.capacity) || std::isinf(most),
            "constraint ", index, "its demand is not that of its members");
}

}  // namespace tisim::max_min
