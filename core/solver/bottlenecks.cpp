#include "solver/bottlenecks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/invariant.hpp"

namespace tisim::max_min {

namespace {
// Number of changes after which sums are recomputed, so that rounding errors do not accumulate.
constexpr std::int32_t kMaxChanges = 1000;
// Maximum number of members scanned when a constraint stops being slack; with more, the bottleneck
// is dissolved.
constexpr std::size_t kMaxScanned = 512;
}  // namespace

// Returns the bottleneck number of a constraint, assigning one if necessary.
std::int32_t Bottlenecks::number_of(std::int32_t constraint) {
  std::int32_t& number = system_.constraint(constraint).pipe_or_bottleneck;
  if (number < 0) {
    number = static_cast<std::int32_t>(bottlenecks_.size());
    bottlenecks_.emplace_back().constraint = constraint;
  }
  return number;
}

void Bottlenecks::form(const BottleneckProposal& proposal, Component& component) {
  const std::int32_t number = number_of(proposal.constraint);
  const Constraint& constraint = system_.constraint(proposal.constraint);
  Bottleneck& bottleneck = at(number);
  ++in_use_;
  bottleneck.in_use = true;
  bottleneck.members = 0;
  bottleneck.changes = 0;
  bottleneck.remaining = constraint.remaining;
  bottleneck.usage = constraint.usage;
  bottleneck.level = bottleneck.remaining / bottleneck.usage;
  bottleneck.range = proposal.range;
  bottleneck.constraints.assign(component.constraints().begin(), component.constraints().end());
  for (const std::int32_t other : component.constraints()) {
    system_.constraint(other).bottleneck = number;
  }
  Stack<Share>& shares = component.shares();
  for (std::size_t i = proposal.first; i < shares.size(); ++i) {
    Variable& variable = system_.variable(shares[i].variable);
    std::swap(variable.share, shares[i].value);
    add_member(number, variable);
  }
  listener_.form(number, {shares.begin() + proposal.first, shares.end()}, bottleneck.level);
  shares.resize(proposal.first, {});
}

void Bottlenecks::add_member(std::int32_t number, Variable& variable) {
  variable.bottleneck = number;
  variable.solved_count = variable.count;
  variable.stale = false;
  ++at(number).members;
}

void Bottlenecks::dissolve(std::int32_t number) {
  Bottleneck& bottleneck = at(number);
  bottleneck.broken = false;
  bottleneck.in_use = false;
  --in_use_;
  any_dissolved_ = true;
  members_.clear();
  listener_.dissolve(number, members_);
  const std::size_t count = system_.touched().size();
  for (const std::int32_t index : members_) {
    detach(number, index);
    system_.touch(index);
  }
  // Variables with flows that ended just now are in no heap.
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t index = system_.touched()[i];
    if (system_.variable(index).bottleneck == number) detach(number, index);
  }
  bottleneck.members = 0;
  for (const std::int32_t held : bottleneck.constraints) system_.constraint(held).bottleneck = -1;
  system_.constraint(bottleneck.constraint).saturation_level = kUnknownLevel;
  system_.mark_dirty(bottleneck.constraint);
}

void Bottlenecks::detach(std::int32_t number, std::int32_t index) {
  Variable& variable = system_.variable(index);
  listener_.leave(number, index);
  variable.share = at(number).level * system_.priority(variable);
  variable.bottleneck = -1;
}

void Bottlenecks::adjust() {
  adjusted_.clear();
  const std::size_t count = system_.touched().size();
  for (std::size_t i = 0; i < count; ++i) adjust_to(system_.touched()[i]);
  for (const std::int32_t number : adjusted_) {
    Bottleneck& bottleneck = at(number);
    bottleneck.adjusted = false;
    const double level = bottleneck.remaining / bottleneck.usage;
    const bool holds = !bottleneck.broken && bottleneck.members > 0 &&
                       !system_.slack(system_.constraint(bottleneck.constraint)) &&
                       bottleneck.changes < kMaxChanges && bottleneck.range.contains(level);
    if (holds) {
      bottleneck.level = level;
      listener_.set_level(number, level);
    } else {
      dissolve(number);
    }
  }
}

// Accounts for a variable whose number of flows has changed.
void Bottlenecks::adjust_to(std::int32_t index) {
  const Variable& variable = system_.variable(index);
  double weight = 0.0;
  const std::int32_t number = holder_of(variable, weight);
  if (number < 0) return;
  Bottleneck& bottleneck = at(number);
  ++bottleneck.changes;
  const std::int32_t known = variable.bottleneck == number ? variable.solved_count : 0;
  const std::int32_t more = variable.count - known;
  add_to_sums(number, variable, weight, more);
  change_members(number, index, weight);
  if (more > 0 && !bottleneck.broken) bottleneck.broken = !lower_highest_level(number, variable);
}

// Returns the bottleneck that the variable belongs to, or that holds one of its constraints, and
// the variable's weight on that bottleneck's constraint.
std::int32_t Bottlenecks::holder_of(const Variable& variable, double& weight) {
  std::int32_t number = variable.bottleneck;
  for (const Element& element : system_.elements(variable)) {
    const std::int32_t holder = system_.constraint(element.constraint).bottleneck;
    if (holder < 0) continue;
    if (number >= 0 && number != holder) {  // the variable joins two components
      note_adjusted(number).broken = true;
      note_adjusted(holder).broken = true;
    }
    number = holder;
    if (at(holder).constraint == element.constraint) weight = system_.weight(element);
    note_adjusted(holder);
  }
  return number;
}

void Bottlenecks::add_to_sums(std::int32_t number, const Variable& variable, double weight,
                              std::int32_t more) {
  const double priority = system_.priority(variable);
  at(number).usage += weight * priority * more;
  for (const Element& element : system_.elements(variable)) {
    Constraint& constraint = system_.constraint(element.constraint);
    if (constraint.bottleneck == number) {
      constraint.usage += system_.weight(element) * priority * more;
    }
  }
}

void Bottlenecks::change_members(std::int32_t number, std::int32_t index, double weight) {
  Variable& variable = system_.variable(index);
  Bottleneck& bottleneck = at(number);
  if (variable.bottleneck == number) {
    variable.solved_count = variable.count;
    if (variable.count > 0) {
      variable.stale = false;
      listener_.update_member(number, index);
    } else {
      variable.bottleneck = -1;
      --bottleneck.members;
      listener_.remove_member(number, index);
    }
  } else if (weight <= 0 || variable.share > 0 || variable.count == 0) {
    // Something outside the bottleneck has changed in its component.
    bottleneck.broken |= variable.share > 0 || variable.count > 0;
  } else if (!bottleneck.broken) {
    add_member(number, variable);
    listener_.join(number, index);
  }
}

Bottlenecks::Bottleneck& Bottlenecks::note_adjusted(std::int32_t number) {
  Bottleneck& bottleneck = at(number);
  if (!bottleneck.adjusted) {
    bottleneck.adjusted = true;
    adjusted_.push_back(number);
  }
  return bottleneck;
}

// Lowers `highest` to the level from which the constraints or the limit of a bottleneck's variable
// would constrain it. Returns false if that level is unknown.
bool Bottlenecks::lower_highest_level(std::int32_t number, const Variable& variable) {
  Bottleneck& bottleneck = at(number);
  double& highest = bottleneck.range.highest;
  highest = std::min(highest, variable.limit * system_.penalty(variable));
  for (const Element& element : system_.elements(variable)) {
    const Constraint& constraint = system_.constraint(element.constraint);
    if (element.constraint == bottleneck.constraint || system_.slack(constraint)) continue;
    if (constraint.fatpipe) return false;
    if (constraint.bottleneck != number && !adopt_constraint(element.constraint, number))
      return false;
    highest = std::min(highest, constraint.remaining / constraint.usage);
  }
  return true;
}

// Adds a formerly slack constraint to the bottleneck. Returns false if it has other variables, or
// too many.
bool Bottlenecks::adopt_constraint(std::int32_t index, std::int32_t number) {
  Constraint& constraint = system_.constraint(index);
  if (constraint.members.size() > kMaxScanned) return false;
  constraint.remaining = constraint.capacity;
  constraint.usage = 0.0;
  if (constraint.updates > 0) system_.set_idle(index, false);
  constraint.updates = 0;
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.bottleneck == number) {
      constraint.usage +=
          system_.weight(constraint, member) * system_.priority(variable) * variable.count;
    } else if (variable.count > 0) {
      return false;
    }
  }
  constraint.bottleneck = number;
  at(number).constraints.push_back(index);
  return true;
}

void Bottlenecks::verify() const {
  std::vector<std::int32_t> members(bottlenecks_.size());
  for (std::size_t i = 0; i < system_.variables(); ++i) {
    const Variable& variable = system_.variable(static_cast<std::int32_t>(i));
    if (variable.bottleneck < 0) continue;
    const auto number = static_cast<std::size_t>(variable.bottleneck);
    ensure(number < bottlenecks_.size() && bottlenecks_[number].in_use,
           "the bottleneck of a variable is in use");
    ensure(variable.count > 0, "the variables of a bottleneck have flows");
    ++members[number];
  }
  std::size_t in_use = 0;
  for (std::size_t i = 0; i < bottlenecks_.size(); ++i) {
    in_use += bottlenecks_[i].in_use ? 1 : 0;
    verify(bottlenecks_[i], members[i]);
  }
  ensure(in_use == in_use_, "the bottlenecks in use are counted");
}

void Bottlenecks::verify(const Bottleneck& bottleneck, std::int32_t members) const {
  ensure(bottleneck.members == members, "a bottleneck counts its members");
  ensure(!bottleneck.adjusted && !bottleneck.broken, "all bottlenecks are adjusted");
  if (!bottleneck.in_use) return;
  const auto number = static_cast<std::int32_t>(&bottleneck - bottlenecks_.data());
  const Constraint& constraint = system_.constraint(bottleneck.constraint);
  ensure(constraint.pipe_or_bottleneck == number, "a constraint links to its bottleneck");
  ensure(bottleneck.range.contains(bottleneck.level),
         "the level of a bottleneck is within its range");
  double usage = 0.0;
  for (const std::int32_t held : bottleneck.constraints) {
    ensure(system_.constraint(held).bottleneck == number,
           "the constraints of a bottleneck link to it");
  }
  for (const Member& member : constraint.members) {
    const Variable& variable = system_.variable(member.variable);
    if (variable.bottleneck != number) continue;
    usage += system_.weight(constraint, member) * system_.priority(variable) * variable.count;
  }
  ensure(std::abs(usage - bottleneck.usage) <= tolerance::kVerified * usage,
         "the usage of a bottleneck is that of its members");
}

}  // namespace tisim::max_min
