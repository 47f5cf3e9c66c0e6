#include "solver/resumption.hpp"

#include <algorithm>

namespace tisim::max_min {

namespace {
constexpr int kNewtonSteps = 8;
constexpr std::size_t kFewMembers = 1U << 12;
}  // namespace

double Resumption::level() {
  if (system_.changes()) return 0.0;
  bool any = false;
  std::size_t members = 0;
  double lowest = kNotSaturated;
  for (const std::int32_t index : system_.dirty()) {
    const Constraint& constraint = system_.constraint(index);
    if (!constraint.dirty || constraint.count == 0 || constraint.bottleneck >= 0) continue;
    if (constraint.saturation_level == kUnknownLevel || constraint.fatpipe) return 0.0;
    if (constraint.saturation_level == kNeverSaturated) continue;
    any = true;
    members += constraint.members.size();
    lowest = std::min(lowest, constraint.saturation_level);
  }
  // Examining so many members takes longer than resuming may save.
  if (!any || members > std::max(system_.variables(), kFewMembers)) return 0.0;
  for (const std::int32_t index : system_.dirty()) {
    const Constraint& constraint = system_.constraint(index);
    if (!constraint.dirty || constraint.count == 0 || constraint.bottleneck >= 0 ||
        system_.slack(constraint)) {
      continue;
    }
    lowest = saturates_at(constraint, lowest);
    if (lowest <= 0) return 0.0;
  }
  return lowest * (1 - tolerance::kResumed);
}

// Demands limited at a lower level take their demand, the others share by weight. Newton's method
// on a concave function, from below: every iterate is a valid level.
double room_up_to(double capacity, const Stack<Demand>& demands, double most) {
  double usage = 0.0;
  for (const Demand& demand : demands) usage += demand.weight;
  double level = capacity / usage;
  for (int step = 0; step < kNewtonSteps && level < most; ++step) {
    double left = capacity;
    double rising = 0.0;
    for (const auto& [weight, held_at] : demands) {
      if (held_at < level) {
        left -= weight * held_at;
      } else {
        rising += weight;
      }
    }
    if (rising <= 0) return most;
    const double next = left / rising;
    if (!(next > level * (1 + tolerance::kResumed))) break;
    level = next;
  }
  return std::min(level, most);
}

double Resumption::saturates_at(const Constraint& constraint, double most) {
  demands_.clear();
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.bottleneck >= 0) return 0.0;
    if (variable.count == 0) continue;
    const double share = variable.stale ? variable.limit : variable.share;
    const double weight =
        system_.weight(constraint, member) * system_.priority(variable) * variable.count;
    demands_.push_back({weight, share * system_.penalty(variable)});
  }
  return room_up_to(constraint.capacity, demands_, most);
}

void Resumption::note_slack() {
  for (const std::int32_t index : system_.dirty()) {
    Constraint& constraint = system_.constraint(index);
    if (constraint.count == 0 || system_.slack(constraint)) {
      constraint.saturation_level = kNeverSaturated;
      if (constraint.updates > 0) system_.set_idle(index, false);
      constraint.updates = 0;
    }
  }
}

}  // namespace tisim::max_min
