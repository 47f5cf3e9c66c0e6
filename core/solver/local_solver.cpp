#include "solver/local_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/invariant.hpp"

namespace tisim::max_min {

namespace {
// Size of a component, relative to the usual size of parts, from which parts are worthwhile.
constexpr double kMinRelativeSize = 8.0;
constexpr std::size_t kMaxComponent = 1U << 13;
// Cost of a variable of a part, in variables that are solved together.
constexpr std::size_t kCostOfMember = 16;
// Cost of a change that is solved locally, in variables of a component.
constexpr std::size_t kEffort = 16;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
// Weights of a new part in the running mean of sizes.
constexpr double kWeight = 1.0 / 64;
constexpr double kWeightOfLarge = 1.0 / 16;
constexpr double kForgotten = 1.0 / 1024;  // decay of that mean per component solved whole
// Average number of part variables per constraint, at most.
constexpr std::size_t kMaxUses = 32;
// Number of changes for which a large component is assumed large before its size is checked again.
constexpr std::uint8_t kAssumedLarge = 31;  // below 64: see Constraint
// Number of solutions after which the sums of constraints are recomputed, so that rounding errors
// do not accumulate; or the number of members, whose sum rounds as much.
constexpr std::size_t kMaxUpdates = 64;
constexpr std::size_t kMaxIdleUpdates = 250;     // one variable each
constexpr std::size_t kMaxUpdatesOfMany = 4096;  // error below `tolerance::kSameLevel`
// A variable limited by a constraint may be below its level by rounding: the share of an earlier
// solution is kept, and so is the level of the constraint.
constexpr double kHeld = 1 - 4 * tolerance::kSameLevel;
bool is_summed_anew(const Constraint& constraint, std::size_t most) {
  return constraint.updates > most &&
         constraint.updates > std::min(constraint.members.size(), kMaxUpdatesOfMany);
}
}  // namespace

bool LocalSolver::solve(std::span<const std::int32_t> changed) {
  component_.begin();
  part_.clear();
  possible_ = true;
  depart(changed);
  for (const std::int32_t index : changed) include(index);
  do {
    while (possible_ && part_.rise(due_)) {
      if (settle_all()) part_.saturate(due_);
    }
  } while (possible_ && wake_exceeded());
  effort_ += part_.members().size();
  ++solves_;
  component_.allow_again();
  if (!possible_) effort_ = kNever;
  if (possible_) accept(changed);
  // Large parts are costly, so the mean follows them quickly.
  const auto size = static_cast<double>(part_.members().size());
  mean_size_ += (size - mean_size_) * (size > mean_size_ ? kWeightOfLarge : kWeight);
  if (part_.members().size() > kMaxComponent) part_.clear_and_release();
  return possible_;
}

void LocalSolver::begin_solution() {
  effort_ = 0;
  note_departures();
}

bool LocalSolver::is_worthwhile(std::size_t changes) const {
  const std::size_t whole = system_.variables();
  return always_ || (effort_ < whole && kEffort * changes < whole);
}

// Gives the capacity of variables that have lost their flows back to their constraints.
void LocalSolver::note_departures() {
  for (const std::int32_t index : system_.touched()) {
    const Variable& variable = system_.variable(index);
    if (variable.count > 0 || variable.bottleneck >= 0) continue;
    const double taken = variable.share * variable.solved_count;
    for (const Element& element : system_.elements(variable)) {
      Constraint& constraint = system_.constraint(element.constraint);
      if (constraint.updates > 0) constraint.remaining += system_.weight(element) * taken;
    }
  }
}

bool LocalSolver::is_large(const Variable& variable) const {
  for (const Element& element : system_.elements(variable)) {
    const Constraint& constraint = system_.constraint(element.constraint);
    if (constraint.dirty && constraint.assumed_large > 0) return true;
  }
  return false;
}

std::size_t LocalSolver::least_component() const {
  const auto usual = static_cast<std::size_t>(kMinRelativeSize * mean_size_);
  return std::clamp(usual, least_, kMaxComponent);
}

void LocalSolver::note_whole() { mean_size_ -= mean_size_ * kForgotten; }

void LocalSolver::assume_large() {
  if (!any_large_) begin_solution();
  any_large_ = true;
  for (const std::int32_t index : component_.constraints()) {
    system_.constraint(index).assumed_large = kAssumedLarge;
  }
}

// Considers the constraints of variables that have lost their flows: the variables they limited may
// get more.
void LocalSolver::depart(std::span<const std::int32_t> changed) {
  abandoned_.clear();
  for (const std::int32_t index : changed) {
    const Variable& variable = system_.variable(index);
    if (variable.count > 0) continue;
    for (const Element& element : system_.elements(variable)) {
      if (system_.constraint(element.constraint).dirty) abandoned_.push_back(element.constraint);
    }
  }
  std::sort(abandoned_.begin(), abandoned_.end());
  const std::int32_t* const end = std::unique(abandoned_.begin(), abandoned_.end());
  for (const std::int32_t* index = abandoned_.begin(); possible_ && index != end; ++index) {
    if (system_.constraint(*index).count > 0) consider(*index);
  }
}

// Flows with equal progress should end together: do not separate them by rounding.
bool LocalSolver::keeps_share(const LocalPart::Member& member) const {
  const Variable& variable = system_.variable(member.variable);
  const double off = std::abs(member.share - variable.share);
  return !variable.stale && off <= tolerance::kSameLevel * variable.share;
}

// Ensures that the sum and the level of the last solution are known. Variables without flows had no
// part in it, whatever their shares.
void LocalSolver::examine(Constraint& constraint) {
  const bool level_known = constraint.saturation_level != kUnknownLevel;
  if (constraint.updates > 0 && level_known && !is_summed_anew(constraint, kMaxUpdates)) return;
  double used = 0.0, left_behind = 0.0, top = 0.0;
  bool departs = false;
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.bottleneck >= 0) {
      possible_ = false;
      return;
    }
    const double taken =
        system_.weight(constraint, member) * variable.share * variable.solved_count;
    (variable.count > 0 ? used : left_behind) += taken;
    if (taken > 0) top = std::max(top, level(variable));
    departs |= variable.count == 0 && variable.stale;
  }
  if (!level_known) {
    const double room = constraint.capacity - used - left_behind;
    // A constraint closed when nearly exhausted may be exceeded: it limited some of the variables.
    const bool nearly_full = room <= 2 * precision_ * constraint.capacity;
    const bool full =
        std::abs(room) <= constraint.capacity * std::max(tolerance_, tolerance::kUnused);
    constraint.saturation_level = full ? top : nearly_full ? 0.0 : kNotSaturated;
  }
  constraint.remaining = constraint.capacity - used;
  constraint.updates = 1;
  // Variables departing now are needed again if this attempt fails.
  if (!departs && System::has_many_idle_members(constraint)) {
    system_.remove_idle_members(constraint);
  }
}

void LocalSolver::include(std::int32_t index) {
  Variable& variable = system_.variable(index);
  if (!possible_ || in_part(variable) || variable.count == 0) return;
  const std::size_t largest = std::max(kMaxComponent, system_.variables() / kCostOfMember);
  if (variable.bottleneck >= 0 || part_.members().size() >= largest ||
      part_.uses() > kMaxUses * largest) {
    possible_ = false;
    return;
  }
  component_.add_variable(index);
  const VariableType& type = system_.type_of(variable);
  part_.add_member(index, variable, type);
  // Constraints are scattered in memory: for most it suffices to know that they are idle.
  others_.clear();
  for (const Element& element : system_.elements(variable, type)) {
    if (system_.is_idle(element.constraint)) {
      part_.add_use(~element.constraint, system_.weight(element) * variable.count);
    } else {
      __builtin_prefetch(&system_.constraint(element.constraint));
      others_.push_back(&element);
    }
  }
  for (const Element* const element : others_) {
    Constraint& constraint = system_.constraint(element->constraint);
    if (!component_.contains(constraint)) {
      if (system_.slack(constraint) && !constraint.dirty) continue;
      consider(element->constraint);
      if (!possible_) return;
    }
    const bool is_link = component_.contains(constraint);
    part_.add_use(is_link ? constraint.slot : ~element->constraint,
                  system_.weight(*element) * variable.count);
  }
}

// Makes a constraint a link of the part unless it is idle.
void LocalSolver::consider(std::int32_t index) {
  Constraint& constraint = system_.constraint(index);
  if (constraint.fatpipe || constraint.bottleneck >= 0) {
    possible_ = false;
    return;
  }
  examine(constraint);
  if (!possible_) return;
  if (was_saturated(constraint)) {
    add_constraint(index);
  } else {
    system_.set_idle(index, true);
  }
}

void LocalSolver::add_constraint(std::int32_t index) {
  Constraint& constraint = system_.constraint(index);
  component_.add_constraint(index);
  system_.set_idle(index, false);
  LocalPart::Link link;
  link.remaining = constraint.remaining;
  link.negligible = constraint.capacity * precision_;
  if (was_saturated(constraint)) {
    link.before = constraint.saturation_level;
    link.below = link.before * (1 + tolerance::kSameLevel);
    link.lenient = tolerance_ > 0;
  }
  link.constraint = index;
  link.outside = constraint.count;
  link.slack = system_.slack(constraint);
  constraint.slot = part_.add_link(link);
}

// Subtracts the shares of the part from its idle constraints, or adds them back (`sign` -1).
void LocalSolver::use_idle(double sign) {
  exceeded_.clear();
  for (std::size_t i = 0; i < part_.members().size(); ++i) {
    const LocalPart::Member& member = part_.members()[i];
    if (keeps_share(member)) continue;
    const double more = sign * (member.share - member.before);
    for (const LocalPart::Use& use : part_.uses_of(i)) {
      if (use.link >= 0) continue;
      Constraint& constraint = system_.constraint(~use.link);
      constraint.remaining -= use.weight * more;
      if (is_summed_anew(constraint, kMaxIdleUpdates)) {
        system_.set_idle(~use.link, false);
      } else {
        ++constraint.updates;
      }
      if (is_exceeded(constraint)) exceeded_.push_back(~use.link);
    }
  }
}

// Turns exceeded idle constraints into links and restarts. Returns false if none is exceeded.
bool LocalSolver::wake_exceeded() {
  use_idle(1.0);
  std::sort(exceeded_.begin(), exceeded_.end());
  const std::int32_t* const last = std::unique(exceeded_.begin(), exceeded_.end());
  woken_.clear();
  for (const std::int32_t* index = exceeded_.begin(); index != last; ++index) {
    // Later changes may have freed some capacity.
    if (is_exceeded(system_.constraint(*index))) woken_.push_back(*index);
  }
  if (woken_.empty()) return false;
  use_idle(-1.0);
  part_.reset_shares();
  for (const std::int32_t index : woken_) add_constraint(index);
  part_.attach_woken([this](std::int32_t index) {
    const Constraint& constraint = system_.constraint(index);
    return component_.contains(constraint) ? constraint.slot : -1;
  });
  return true;
}

// Adds the variables of a constraint with at least a given level.
void LocalSolver::include_from(std::int32_t index, double from) {
  joining_.clear();
  for (const Member& member : system_.constraint(index).members) {
    const Variable& variable = system_.variable(member.variable);
    if (in_part(variable) || level(variable) < from) continue;
    system_.prefetch_elements(variable);
    joining_.push_back(member.variable);
  }
  for (const std::int32_t variable : joining_) include(variable);
}

// Returns true if all due links saturate at the current level.
bool LocalSolver::settle_all() {
  bool settled = true;
  for (const std::int32_t link : due_) {
    settled &= settle(static_cast<std::size_t>(link));
    if (!possible_) return false;
  }
  return settled;
}

// Returns true if a link saturates at the current level; false if variables have joined, or it
// saturates at another level.
bool LocalSolver::settle(std::size_t index) {
  LocalPart::Link& link = part_.links()[index];
  if (!part_.reaches_former_level(link)) {
    const double level = part_.saturation(link);
    return link.outside == 0 || level >= link.below || !include_squeezed(index, level);
  }
  // Residual capacity if the variables without a share get the level of the last solution.
  const double capacity = system_.constraint(link.constraint).capacity;
  const double left = link.remaining - (link.unfixed > 0 ? link.usage * link.before : 0.0);
  if (link.lenient && left < -tolerance_ * capacity) {
    link.lenient = false;
    part_.request_restart();
    part_.reschedule(link);
    return false;
  }
  const bool keeps_level =
      link.lenient       ? left <= tolerance_ * capacity
      : link.unfixed > 0 ? part_.saturation(link) <= link.before * (1 + 2 * tolerance::kSameLevel)
                         : left <= capacity * tolerance::kSameLevel;
  if (keeps_level && !link.slack) return true;
  link.released = true;
  release(index, link.before * kHeld);
  return false;
}

// Lets the variables of a link join from a level on.
void LocalSolver::release(std::size_t index, double from) {
  include_from(part_.links()[index].constraint, from);
  LocalPart::Link& link = part_.links()[index];
  link.below = from;
  part_.reschedule(link);
}

// Lets variables join that are above the level at which a link would saturate without them.
bool LocalSolver::include_squeezed(std::size_t index, double level) {
  constexpr double kSame = tolerance::kSameLevel;
  LocalPart::Link& link = part_.links()[index];
  double top = 0.0;
  for (const Member& member : system_.constraint(link.constraint).members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.count > 0 && !in_part(variable)) top = std::max(top, this->level(variable));
  }
  if (top <= level * (1 + kSame)) {
    link.below = level;
    return false;
  }
  const double squeezed = std::min(top, saturates_at(link)) * (1 - kSame);
  release(index, std::max(level * (1 + kSame), squeezed));
  return true;
}

// Returns a level up to which a link has capacity for all its variables, if those without a share
// demand their limits.
double LocalSolver::saturates_at(const LocalPart::Link& link) {
  const Constraint& constraint = system_.constraint(link.constraint);
  demands_.clear();
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.count == 0 || in_part(variable)) continue;
    const double weight =
        system_.weight(constraint, member) * system_.priority(variable) * variable.count;
    demands_.push_back({weight, level(variable)});
  }
  for (std::int32_t i = link.last_use; i >= 0; i = part_.use(i).next) {
    const LocalPart::Use& use = part_.use(i);
    const LocalPart::Member& member = part_.member(use);
    demands_.push_back({use.weight * member.priority,
                        member.fixed ? member.share * member.penalty : member.limit_level});
  }
  return room_up_to(constraint.capacity, demands_, kNotSaturated);
}

// Stores the shares in the component and the residual capacities in the constraints.
void LocalSolver::accept(std::span<const std::int32_t> changed) {
  component_.shares().clear();
  for (const LocalPart::Member& member : part_.members()) {
    if (!keeps_share(member)) component_.shares().push_back({member.variable, member.share});
  }
  std::uint8_t assumed = kAssumedLarge;
  for (const std::int32_t index : changed) {
    const Variable& variable = system_.variable(index);
    if (variable.count == 0) component_.shares().push_back({index, 0.0});
    for (const Element& element : system_.elements(variable)) {
      const Constraint& constraint = system_.constraint(element.constraint);
      if (constraint.dirty && constraint.assumed_large > 0)
        assumed = std::min<std::uint8_t>(assumed, constraint.assumed_large);
    }
  }
  const auto left = static_cast<std::uint8_t>(assumed - 1);
  for (const std::int32_t index : changed) {
    for (const Element& element : system_.elements(system_.variable(index))) {
      Constraint& constraint = system_.constraint(element.constraint);
      if (constraint.dirty) constraint.assumed_large = left & 0x3fU;
    }
  }
  for (const LocalPart::Link& link : part_.links()) {
    Constraint& constraint = system_.constraint(link.constraint);
    constraint.assumed_large = left & 0x3fU;
    constraint.saturation_level = link.slack ? kNeverSaturated : link.level;
    constraint.remaining = link.remaining;
    constraint.updates = static_cast<std::uint16_t>(link.slack ? 0 : constraint.updates + 1);
  }
}

void LocalSolver::verify() const {
  for (std::size_t i = 0; i < system_.constraints(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    if (!system_.is_idle(index)) continue;
    const Constraint& constraint = system_.constraint(index);
    ensure(constraint.updates > 0 && constraint.bottleneck < 0 && !constraint.fatpipe,
           "idle constraints have a known residual capacity");
    double left = constraint.capacity;
    for (const Member& member : constraint.members) {
      const Variable& variable = system_.variable(member.variable);
      left -= system_.weight(constraint, member) * variable.share * variable.count;
    }
    ensure(std::abs(left - constraint.remaining) <= tolerance::kVerified * constraint.capacity,
           "the residual capacity of an idle constraint is what its variables leave");
  }
}

}  // namespace tisim::max_min
