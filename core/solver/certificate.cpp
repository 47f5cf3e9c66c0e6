#include "solver/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "solver/tolerances.hpp"
#include "support/invariant.hpp"

namespace tisim::max_min {

namespace {

[[noreturn]] void refute(const char* kind, std::int32_t index, const std::string& what) {
  throw BrokenInvariant(kind + std::to_string(index) + ": " + what);
}

}  // namespace

void Certificate::check() {
  saturation_levels_.clear();
  for (std::size_t i = 0; i < system_.constraints(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Constraint& constraint = system_.constraint(index);
    double level = kNotSaturated;
    if (!system_.slack(constraint)) {
      level = constraint.fatpipe ? saturation_level_of_pipe(index) : saturation_level(index);
    }
    saturation_levels_.push_back(level);
  }
  for (std::size_t i = 0; i < system_.variables(); ++i) {
    check_variable(static_cast<std::int32_t>(i));
  }
}

double Certificate::level(std::int32_t variable) const {
  return share(variable) * system_.penalty(system_.variable(variable));
}

// Returns the level at which the constraint's variables use its capacity, counted in order of
// level; variables of equal level count together.
double Certificate::saturation_level(std::int32_t index) {
  const Constraint& constraint = system_.constraint(index);
  uses_.clear();
  double left = 0.0;  // total weight of the variables not counted yet
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.count == 0) continue;
    const double weight = system_.weight(constraint, member) * variable.count;
    uses_.push_back({level(member.variable), weight * share(member.variable),
                     weight * system_.priority(variable)});
    left += uses_.back().usage;
  }
  std::sort(uses_.begin(), uses_.end(),
            [](const Use& a, const Use& b) { return a.level < b.level; });
  double used = 0.0;
  for (std::size_t i = 0; i < uses_.size();) {
    double level = uses_[i].level;
    const double same = level * more_;
    for (; i < uses_.size() && uses_[i].level <= same; ++i) {
      level = uses_[i].level;
      used += uses_[i].used;
      left -= uses_[i].usage;
    }
    if (used > constraint.capacity * more_) {
      refute("constraint ", index,
             "its variables use " + std::to_string(used) + " bytes/s of " +
                 std::to_string(constraint.capacity));
    }
    // With a tolerance, the last of them may use less or more than the remaining capacity.
    const bool final = i == uses_.size() || more_ == 1 + tolerance::kVerified;
    if (final && used >= constraint.capacity * (1 - precision_) * less_) return level;
    if (left <= precision_) break;
  }
  return kNotSaturated;
}

// Returns the level of the flow that fills the pipe.
double Certificate::saturation_level_of_pipe(std::int32_t index) {
  const Constraint& constraint = system_.constraint(index);
  double highest = kNotSaturated;
  for (const Member& member : constraint.members) {
    if (system_.variable(member.variable).count == 0) continue;
    const double used = system_.weight(constraint, member) * share(member.variable);
    if (used > constraint.capacity * more_) refute("constraint ", index, "a flow exceeds the pipe");
    if (used < constraint.capacity * less_) continue;
    highest = highest == kNotSaturated ? level(member.variable)
                                       : std::max(highest, level(member.variable));
  }
  return highest;
}

void Certificate::check_variable(std::int32_t index) const {
  const Variable& variable = system_.variable(index);
  const double share = this->share(index);
  if (variable.count == 0) {
    if (share != 0) refute("variable ", index, "it has a share but no flows");
    return;
  }
  const std::span<const Element> way = system_.elements(variable);
  if (way.empty()) return;  // its flows end when they begin
  if (!std::isfinite(share) || share < 0)
    refute("variable ", index, "its share is not a bandwidth");
  if (share > variable.limit * more_) refute("variable ", index, "its share exceeds its limit");
  if (share >= variable.limit * less_) return;
  for (const Element& element : way) {
    const double full = saturation_levels_[static_cast<std::size_t>(element.constraint)];
    if (level(index) >= full * less_ * less_ && level(index) <= full * more_ * more_) return;
  }
  refute("variable ", index,
         "it is below its limit, and no saturated constraint holds it back at its level");
}

}  // namespace tisim::max_min
