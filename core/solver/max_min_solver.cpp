#include "solver/max_min_solver.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "solver/certificate.hpp"
#include "support/invariant.hpp"

namespace tisim {

using max_min::Constraint;
using max_min::Extent;
using max_min::Share;
using max_min::ShareCache;
using max_min::Variable;

namespace {
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
// Number of shares reported to the listener at once.
constexpr std::ptrdiff_t kTogether = 1 << 12;
}  // namespace

MaxMinSolver::MaxMinSolver(max_min::System& system, double precision,
                           max_min::ShareListener& listener, double tolerance)
    : system_(system),
      listener_(listener),
      precision_(precision),
      tolerance_(tolerance),
      component_(system),
      filling_(system, component_, known_, precision),
      resumption_(system),
      local_(system, component_, known_, precision, tolerance),
      bottlenecks_(system, listener) {}

void MaxMinSolver::solve() {
  component_.begin_solution();
  shuffle_changes();
  if (bottlenecks_.any()) bottlenecks_.adjust();
  shuffle_changes();
  resume_level_ = -1.0;
  too_large_ = false;
  if (local_.any_large()) {
    local_.begin_solution();
    solve_locally();
  }
  Stack<std::int32_t>& dirty = system_.dirty();
  for (std::size_t i = 0; i < dirty.size(); ++i) solve_component(dirty[i]);
  bottlenecks_.forget_dissolved();
  resumption_.note_slack();
  dirty.clear();
  publish_unconstrained();
}

// Solves near the changes that are known to be in large components.
void MaxMinSolver::solve_locally() {
  if (bottlenecks_.any_dissolved() || system_.changes()) return;
  left_.clear();
  solved_.clear();
  together_.clear();
  for (const std::int32_t index : system_.touched()) {
    const Variable& variable = system_.variable(index);
    if (!variable.stale) {
      if (variable.bottleneck < 0) solved_.push_back(index);
      continue;
    }
    if (!local_.is_large(variable)) {
      left_.push_back(index);
      continue;
    }
    together_.push_back(index);
  }
  if (!together_.empty()) solve_together();
  if (solved_.empty()) return;
  set_dirty(solved_, false);
  set_dirty(left_, true);
}

void MaxMinSolver::solve_together() {
  const bool solved = local_.is_worthwhile(together_.size()) && local_.solve(together_);
  if (solved) publish(component_.shares());
  too_large_ |= !solved;
  Stack<std::int32_t>& done = solved ? solved_ : left_;
  for (const std::int32_t index : together_) done.push_back(index);
  together_.clear();
}

void MaxMinSolver::set_dirty(const Stack<std::int32_t>& variables, bool dirty) {
  for (const std::int32_t index : variables) {
    for (const max_min::Element& element : system_.elements(system_.variable(index))) {
      Constraint& constraint = system_.constraint(element.constraint);
      if (!dirty) {
        constraint.dirty = false;
      } else if (!system_.slack(constraint)) {
        system_.mark_dirty(element.constraint);
      }
    }
  }
}

void MaxMinSolver::shuffle_changes() {
  order_.shuffle(system_.dirty());
  order_.shuffle(system_.touched());
}

// Solves the component of a changed constraint, whole or in parts.
void MaxMinSolver::solve_component(std::int32_t seed) {
  Constraint& constraint = system_.constraint(seed);
  const auto is_solved = [&] {
    return !constraint.dirty || constraint.bottleneck >= 0 || component_.was_gathered(constraint) ||
           constraint.count == 0;
  };
  if (is_solved()) {
    constraint.dirty = false;
    return;
  }
  // Shares kept by a tolerance may exceed what a filling can resume from.
  if (resume_level_ < 0) resume_level_ = tolerance_ > 0 ? 0.0 : resumption_.level();
  const bool may_be_part = !bottlenecks_.any_dissolved() && !system_.changes() && !too_large_;
  if (!component_.gather(seed, may_be_part ? local_.least_component() : kAny, resume_level_,
                         bottlenecks_)) {
    local_.assume_large();
    component_.allow_again();
    solve_locally();
    if (is_solved()) return;
    component_.gather(seed, kAny, resume_level_, bottlenecks_);
  }
  constraint.dirty = false;
  local_.note_whole();
  fill_component();
}

void MaxMinSolver::fill_component() {
  const std::size_t size = component_.variables().size();
  if (size == 0) return;  // all keep their shares, or have new ones already
  ++solves_;
  Stack<Share>& shares = component_.shares();
  shares.clear();
  bool in_place = false;
  if (resume_level_ > 0) {
    filling_.fill(Extent::resumed);
    in_place = filling_.in_place();
  } else if (size == 1) {
    const std::int32_t only = component_.variables()[0];
    shares.push_back({only, system_.variable(only).limit});
  } else if (size <= ShareCache::kMaxVariables) {
    const std::uint64_t hash = ShareCache::hash(system_, component_);
    if (!cache_.recall(hash, system_, component_)) {
      filling_.fill(Extent::whole);
      cache_.remember(hash, system_, component_);
    }
  } else {
    filling_.fill(Extent::whole);
    in_place = filling_.in_place();
    if (filling_.proposal().constraint >= 0) bottlenecks_.form(filling_.proposal(), component_);
  }
  if (in_place) {
    publish_in_place();
  } else {
    publish(shares);
  }
}

// Publishes shares stored in place of limits, and restores the limits. Components of this size
// mostly have their variables in memory order.
void MaxMinSolver::publish_in_place() {
  Stack<Share>& before = component_.shares();
  const Stack<std::int32_t>& variables = component_.variables();
  for (std::size_t first = 0; first < variables.size(); first += kTogether) {
    const std::size_t end = std::min(variables.size(), first + kTogether);
    before.clear();
    before.make_room(end - first);
    Share* next = before.begin();
    for (std::size_t i = first; i < end; ++i) {
      Variable& variable = system_.variable(variables[i]);
      if (variable.bottleneck >= 0) continue;
      const double share = variable.limit;
      system_.restore_limit(variable);
      next += accept({variables[i], share}, *next) ? 1 : 0;
    }
    notify(before, next);
  }
}

// Stores shares in the system, and reports the changed ones to the listener.
void MaxMinSolver::publish(Stack<Share>& shares) {
  Share* next = shares.begin();
  for (const Share share : shares) next += accept(share, *next) ? 1 : 0;
  notify(shares, next);
  shares.clear_and_release();
}

// Sets a variable's share and stores the previous one in `before`. Returns false if nothing
// changed.
bool MaxMinSolver::accept(Share share, Share& before) {
  Variable& variable = system_.variable(share.variable);
  if (share.value == variable.share && !variable.stale) return false;
  before = {share.variable, variable.share};
  variable.share = share.value;
  variable.stale = false;
  variable.solved_count = variable.count;
  return true;
}

void MaxMinSolver::notify(const Stack<Share>& before, const Share* end) {
  if (end != before.begin()) listener_.set_shares({before.begin(), end});
}

// Variables limited by no constraint run at their limits.
void MaxMinSolver::publish_unconstrained() {
  Stack<std::int32_t>& touched = system_.touched();
  const std::int32_t* first = touched.begin();
  while (touched.end() - first > kTogether) {
    publish_unconstrained(first, first + kTogether);
    first += kTogether;
  }
  publish_unconstrained(first, touched.end());
  touched.clear();
}

void MaxMinSolver::publish_unconstrained(const std::int32_t* first, const std::int32_t* last) {
  Stack<Share>& before = component_.shares();
  before.clear();
  before.make_room(static_cast<std::size_t>(last - first));
  Share* next = before.begin();
  for (; first != last; ++first) {
    const Variable& variable = system_.variable(*first);
    if (!variable.stale) continue;
    next += accept({*first, variable.count > 0 ? variable.limit : 0.0}, *next) ? 1 : 0;
  }
  notify(before, next);
}

void MaxMinSolver::separate(std::int32_t variable) {
  const std::int32_t bottleneck = system_.variable(variable).bottleneck;
  if (bottleneck >= 0) bottlenecks_.dissolve(bottleneck);
}

void MaxMinSolver::verify() const {
  system_.verify();
  ensure(system_.dirty().empty() && system_.touched().empty(), "all changes are solved");
  std::vector<double> shares;
  for (std::size_t i = 0; i < system_.variables(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Variable& variable = system_.variable(index);
    ensure(!variable.stale, "only changed variables are stale");
    ensure(variable.solved_count == variable.count,
           "variables were solved with their current count");
    shares.push_back(share(index));
  }
  for (std::size_t i = 0; i < system_.constraints(); ++i) {
    const Constraint& constraint = system_.constraint(static_cast<std::int32_t>(i));
    ensure(!constraint.dirty, "only changed constraints are dirty");
  }
  bottlenecks_.verify();
  local_.verify();
  max_min::Certificate(system_, shares, precision_, tolerance_).check();
}

double MaxMinSolver::share(std::int32_t index) const {
  const Variable& variable = system_.variable(index);
  if (variable.bottleneck < 0) return variable.share;
  return bottlenecks_.level(variable.bottleneck) * system_.priority(variable);
}

}  // namespace tisim
