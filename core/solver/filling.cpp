#include "solver/filling.hpp"

#include <algorithm>
#include <limits>

#include "solver/share_cache.hpp"

namespace tisim::max_min {

namespace {
// Minimum size of a component whose levels are kept for resuming; smaller ones are found in the
// share cache.
constexpr std::size_t kWorthResuming = 32;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
}  // namespace

void ProgressiveFilling::set_many(std::size_t variables) {
  many_ = std::max(variables, ShareCache::kMaxVariables + 1);  // the cache needs lists
}

void ProgressiveFilling::fill(Extent extent) {
  extent_ = extent;
  proposal_.constraint = -1;
  unfixed_ = component_.variables().size();
  in_place_ = unfixed_ >= many_;
  lowest_limit_ = component_.lowest_limit();
  highest_fixed_ = 0.0;
  closed_early_ = false;
  sums_hold_ = true;
  open_constraints();
  for (;;) {
    update_levels();
    if (open_.empty()) break;
    const double level = lowest_level();
    if (!fix_bounded(level)) saturate(level);
  }
  for (const std::int32_t index : component_.variables()) {
    if (component_.is_fixed(index)) continue;
    Variable& variable = system_.variable(index);
    put(index, variable, variable.limit);
    sums_hold_ = false;
  }
  if (sums_hold_ && keeps_levels_) keep_sums();
}

// Keeps the residual capacity of each constraint, so that local solving need not recompute it.
void ProgressiveFilling::keep_sums() {
  for (const std::int32_t index : component_.constraints()) {
    Constraint& constraint = system_.constraint(index);
    if (!constraint.fatpipe && !system_.slack(constraint)) constraint.updates = 1;
  }
}

void ProgressiveFilling::open_constraints() {
  open_.clear();
  levels_.clear();
  changed_.clear();
  keeps_levels_ = component_.variables().size() + component_.kept() >= kWorthResuming;
  for (const std::int32_t index : component_.constraints()) {
    Constraint& constraint = system_.constraint(index);
    if (system_.slack(constraint)) continue;
    constraint.saturation_level = keeps_levels_ ? kNotSaturated : kUnknownLevel;
    if (constraint.fatpipe) {
      constraint.remaining = constraint.capacity;
      constraint.usage = fatpipe_usage(constraint);
    }
    open(constraint);
    // Variables that keep their shares may exhaust it.
    if (extent_ != Extent::whole) note_change(constraint);
  }
}

double ProgressiveFilling::fatpipe_usage(const Constraint& constraint) const {
  double usage = 0.0;
  for (const Member& member : constraint.members) {
    if (component_.is_fixed(member.variable)) continue;
    usage = std::max(usage, system_.weight(constraint, member) *
                                system_.priority(system_.variable(member.variable)));
  }
  return usage;
}

void ProgressiveFilling::open(Constraint& constraint) {
  constraint.slot = static_cast<std::int32_t>(open_.size());
  open_.push_back(&constraint);
  levels_.push_back(constraint.remaining / constraint.usage);
}

void ProgressiveFilling::close(Constraint& constraint) {
  const auto slot = static_cast<std::size_t>(constraint.slot);
  constraint.slot = -1;
  Constraint* last = open_.back();
  if (last != &constraint) {
    last->slot = static_cast<std::int32_t>(slot);
    open_[slot] = last;
    levels_[slot] = levels_.back();
  }
  open_.pop_back();
  levels_.pop_back();
}

// Updates the levels of the constraints on which a share was fixed.
void ProgressiveFilling::update_levels() {
  for (Constraint* constraint : changed_) {
    constraint->changed = false;
    if (constraint->slot < 0) continue;
    if (constraint->unfixed == 0 || constraint->usage <= precision_ ||
        constraint->remaining <= constraint->capacity * precision_) {
      if (constraint->unfixed > 0) {
        closed_early_ = true;
        constraint->saturation_level = kUnknownLevel;
      }
      close(*constraint);
    } else {
      levels_[static_cast<std::size_t>(constraint->slot)] =
          constraint->remaining / constraint->usage;
    }
  }
  changed_.clear();
}

// Requires at least one open constraint.
double ProgressiveFilling::lowest_level() const {
  // Four independent minima, to break the dependency chain.
  double lowest[4] = {kInfinite, kInfinite, kInfinite, kInfinite};
  std::size_t i = 0;
  for (; i + 4 <= levels_.size(); i += 4) {
    for (std::size_t j = 0; j < 4; ++j) lowest[j] = std::min(lowest[j], levels_[i + j]);
  }
  for (; i < levels_.size(); ++i) lowest[0] = std::min(lowest[0], levels_[i]);
  return std::min(std::min(lowest[0], lowest[1]), std::min(lowest[2], lowest[3]));
}

// The flow that fills a fat pipe has the pipe's level as its bound, up to rounding. In SimGrid the
// last bit of this comparison determines the shares of the other flows, so the same numbers are
// used here (docs/adr/0003-exact-shares.md). In SimGrid, limits within the precision of the lowest
// are equal to it, even if the level is between them.
bool ProgressiveFilling::fix_bounded(double level) {
  if (lowest_limit_ >= level) return false;
  if (fix_below(level - precision_)) return true;
  return lowest_limit_ < level && fix_below(lowest_limit_ + precision_);
}

// Fixes the variables with limits below a level, and finds the lowest limit of the others.
bool ProgressiveFilling::fix_below(double level) {
  bool any = false;
  double lowest = kInfinite;
  for (const std::int32_t index : component_.variables()) {
    if (component_.is_fixed(index)) continue;
    const Variable& variable = system_.variable(index);
    const double limit = variable.limit * system_.penalty(variable);
    if (limit >= level) {
      lowest = std::min(lowest, limit);
    } else {
      any = true;
      fix(index, variable.limit);
    }
  }
  lowest_limit_ = lowest;
  return any;
}

void ProgressiveFilling::saturate(double lowest) {
  const double level = known_.find_or_add(lowest);
  const double same = std::max(level, lowest) * (1 + tolerance::kSameSaturation);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (!(levels_[i] <= same)) continue;
    Constraint* constraint = open_[i];
    // Other constraints that saturate at this level may have fixed all its variables.
    if (constraint->unfixed == 0) continue;
    if (constraint->saturation_level == kNotSaturated) constraint->saturation_level = level;
    if (saturate_last(*constraint, level)) return;
    fix_members(*constraint, level);
  }
}

// Fixes the members of a constraint without a share. They are scattered in memory, so their
// elements are prefetched.
void ProgressiveFilling::fix_members(const Constraint& constraint, double level) {
  constexpr std::size_t kAhead = 8;
  waiting_.clear();
  waiting_.make_room(constraint.members.size());
  for (const Member& member : constraint.members) {
    waiting_.append_if(!component_.is_fixed(member.variable), member.variable);
  }
  const std::size_t count = waiting_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) system_.prefetch_elements(system_.variable(waiting_[i + kAhead]));
    const std::int32_t index = waiting_[i];
    fix(index, level * system_.priority(system_.variable(index)));
  }
}

// If all remaining variables are on one constraint, the residual capacities of the others are not
// needed again.
bool ProgressiveFilling::saturate_last(Constraint& constraint, double level) {
  if (static_cast<std::size_t>(constraint.unfixed) != unfixed_) return false;
  const std::size_t size = component_.variables().size();
  const bool is_bottleneck = unfixed_ >= std::max(kMinBottleneckSize, size / 2);
  if (keeps_levels_ && !is_bottleneck) return false;
  if (is_bottleneck) {
    // It may become a bottleneck next time, which requires all its variables.
    if (extent_ == Extent::resumed) constraint.saturation_level = kUnknownLevel;
    if (size > ShareCache::kMaxVariables) propose(constraint, level);
  }
  const bool lists = proposal_.constraint >= 0;
  for (const std::int32_t index : component_.variables()) {
    if (component_.is_fixed(index)) continue;
    Variable& variable = system_.variable(index);
    component_.mark_fixed(variable);
    const double share = level * system_.priority(variable);
    if (lists) {
      component_.shares().push_back({index, share});
    } else {
      put(index, variable, share);
    }
  }
  open_.clear();
  levels_.clear();
  changed_.clear();
  sums_hold_ = false;
  return true;
}

// Proposes `constraint`, which limits all remaining variables, as a bottleneck.
void ProgressiveFilling::propose(const Constraint& constraint, double level) {
  if (constraint.fatpipe || system_.changes() || closed_early_ || extent_ != Extent::whole) return;
  double highest = kInfinite;
  for (const Constraint* other : open_) {
    if (other == &constraint || other->unfixed == 0) continue;
    highest = std::min(highest, other->remaining / other->usage);
  }
  for (const std::int32_t index : component_.variables()) {
    if (component_.is_fixed(index)) continue;
    const Variable& variable = system_.variable(index);
    highest = std::min(highest, variable.limit * system_.penalty(variable));
  }
  const LevelRange range{highest_fixed_, highest};
  if (range.contains(level)) {
    proposal_ = {system_.index_of(constraint), component_.shares().size(), range};
  }
}

void ProgressiveFilling::fix(std::int32_t index, double share) {
  Variable& variable = system_.variable(index);
  const VariableType& type = system_.type_of(variable);
  component_.mark_fixed(variable);
  --unfixed_;
  put(index, variable, share);
  highest_fixed_ = std::max(highest_fixed_, share * type.penalty);
  const double taken = share * variable.count;
  const double usage = type.priority * variable.count;
  Constraint* const constraints = system_.constraint_array();
  const std::uint32_t mark = component_.mark();
  for (const Element& element : system_.elements(variable, type)) {
    Constraint& constraint = constraints[element.constraint];
    if (constraint.visit != mark) continue;
    --constraint.unfixed;
    note_change(constraint);
    if (constraint.fatpipe) {
      constraint.usage = fatpipe_usage(constraint);
      continue;
    }
    const double weight = system_.weight(element);
    constraint.remaining -= weight * taken;
    constraint.usage -= weight * usage;
  }
}

void ProgressiveFilling::note_change(Constraint& constraint) {
  if (constraint.changed) return;
  constraint.changed = true;
  changed_.push_back(&constraint);
}

}  // namespace tisim::max_min
