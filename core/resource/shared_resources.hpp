// Resources of one kind, each of whose actions progress at the same rate: computations on the cores
// of a host, transfers from and to a disk.
//
// A policy defines the kind of resource. It has
//   double rate(std::int32_t resource, double capacity, std::size_t actions) const
//     work per second of each of `actions` actions; if it depends on anything else, the caller
//     reports changes of that by `disturb`;
//   void set_end(std::int32_t resource, double date)
//     schedules the next end of an action of a resource: infinity if none progresses;
//   void remove_end(std::int32_t resource)
//     the resource has no actions left.
// Everything is inline, so the policy has no cost. Flows over links share the virtual clock and the
// ending of actions (action_list.hpp), but their rates come from the max-min solver
// (network/flows.hpp).
//
// Invariants: after `settle`, the next end of every resource is scheduled; no action is lost; a
// virtual clock never goes back while there are actions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "resource/action_list.hpp"
#include "resource/virtual_clock.hpp"
#include "support/invariant.hpp"
#include "support/stack.hpp"

namespace tisim {

template <class Policy>
class SharedResources {
 public:
  // `capacities`: work per second of each resource. Actions that end within `precision` seconds of
  // another end with it.
  SharedResources(const std::vector<double>& capacities, double precision, Policy policy)
      : resources_(capacities.size()),
        is_stale_(capacities.size()),
        precision_(precision),
        policy_(std::move(policy)) {
    for (std::size_t i = 0; i < capacities.size(); ++i) resources_[i].capacity = capacities[i];
  }

  // `owner` is notified of the end.
  void start(std::int32_t index, double work, std::int32_t owner, double now) {
    Resource& resource = at(index);
    if (resource.actions.empty()) {
      resource.clock.restart(now);
    } else {
      resource.clock.advance(resource.rate, now);
    }
    resource.actions.push({resource.clock.done + work, order_++, owner});
    touch(index);
  }

  // Reschedules the ends, after all changes of an instant.
  void settle(double now) {
    for (const std::int32_t index : stale_) date_end(index, now);
    stale_.clear();
  }
  bool is_settled() const { return stale_.empty(); }

  // Appends the owners of a resource's actions that end at `now`, the date of its next end.
  void collect_ended(std::int32_t index, double now, Stack<std::int32_t>& owners) {
    Resource& resource = at(index);
    resource.clock.advance(resource.rate, now);
    const double done = resource.clock.done + precision_ * resource.rate;
    take_ended(
        resource.actions, [done](double finish) { return finish < done; },
        [&owners](const RunningAction& action) { owners.push_back(action.owner); });
    if (!resource.actions.empty()) touch(index);
  }

  // Sets the capacity of a resource; `settle` must follow.
  void set_capacity(std::int32_t index, double capacity, double now) {
    Resource& resource = at(index);
    resource.clock.advance(resource.rate, now);
    resource.capacity = capacity;
    touch(index);
  }

  // The policy's rate for a resource changes from `now`; `settle` must follow.
  void disturb(std::int32_t index, double now) {
    Resource& resource = at(index);
    if (resource.actions.empty()) return;
    resource.clock.advance(resource.rate, now);
    touch(index);
  }

  const Policy& policy() const { return policy_; }
  std::size_t actions(std::int32_t index) const { return at(index).actions.size(); }

  // Removes an owner's action without notification. Returns false if it has none.
  bool drop(std::int32_t index, std::int32_t owner, double now) {
    Resource& resource = at(index);
    if (!resource.actions.remove(owner)) return false;
    resource.clock.advance(resource.rate, now);
    date_end(index, now);  // at once: the scheduled end may be at this instant
    return true;
  }

  // Appends the owners of the actions of a resource.
  void list_owners(std::int32_t index, std::vector<std::int32_t>& owners) const {
    for (const RunningAction& action : at(index).actions) owners.push_back(action.owner);
  }

  // Calls f(owner, seconds) for each action of a resource, with the time from `now` to its end at
  // the current rate. Requires that all is settled.
  template <class F>
  void for_each_end(std::int32_t index, double now, F f) const {
    const Resource& resource = at(index);
    for (const RunningAction& action : resource.actions) {
      f(action.owner, resource.clock.seconds_to(action.finish, resource.rate, now));
    }
  }

  // Appends the resources that have actions but zero capacity.
  void list_starved(std::vector<std::int32_t>& starved) const {
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      if (resources_[i].capacity <= 0 && !resources_[i].actions.empty()) {
        starved.push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  // Throws BrokenInvariant if actions are out of order or overdue, or a rate is wrong. Requires
  // that everything is settled.
  void verify(double now) const {
    ensure(stale_.empty(), "all resources are settled");
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      ensure_of(!is_stale_[i], i, "it is listed if it is stale");
      verify(i, now);
    }
  }

 private:
  friend struct ResourceTampering;  // corrupts the state to test `verify`

  struct Resource {
    double capacity = 0.0;
    VirtualClock clock;
    double rate = 0.0;  // rate of each action
    ActionList actions;
  };
  static_assert(sizeof(Resource) == 56);  // there may be a million of them

  Resource& at(std::int32_t index) { return resources_[static_cast<std::size_t>(index)]; }
  const Resource& at(std::int32_t index) const {
    return resources_[static_cast<std::size_t>(index)];
  }

  void touch(std::int32_t index) {
    const auto place = static_cast<std::size_t>(index);
    if (is_stale_[place]) return;
    is_stale_[place] = true;
    stale_.push_back(index);
  }

  // Reschedules the next end; the clock must be up to date.
  void date_end(std::int32_t index, double now) {
    Resource& resource = at(index);
    is_stale_[static_cast<std::size_t>(index)] = false;
    if (resource.actions.empty()) {
      policy_.remove_end(index);
      return;
    }
    resource.rate = policy_.rate(index, resource.capacity, resource.actions.size());
    const double finish = resource.actions.first_finish();
    policy_.set_end(index, resource.clock.date_of(finish, resource.rate, now));
  }

  static void ensure_of(bool holds, std::size_t index, const char* what) {
    if (!holds) throw BrokenInvariant("resource " + std::to_string(index) + ": " + what);
  }

  void verify(std::size_t index, double now) const {
    const Resource& resource = resources_[index];
    if (resource.actions.empty()) return;
    const auto number = static_cast<std::int32_t>(index);
    ensure_of(resource.actions.is_heap(), index, "its actions are a heap by their ends");
    ensure_of(resource.clock.updated <= now, index, "its clock is not ahead of the current date");
    ensure_of(resource.rate == policy_.rate(number, resource.capacity, resource.actions.size()),
              index, "its rate is that of its capacity and number of actions");
    ensure_of(std::isfinite(resource.rate) && resource.rate >= 0, index,
              "its rate is finite and not negative");
    VirtualClock clock = resource.clock;
    clock.advance(resource.rate, now);
    // Actions that end within the precision end now, because dates are rounded.
    const double late = (2 * precision_ + now * 1e-12) * resource.rate;
    ensure_of(resource.actions.first_finish() >= clock.done - late, index,
              "no end of an action is overdue");
  }

  std::vector<Resource> resources_;
  std::vector<bool> is_stale_;  // by resource: its next end must be rescheduled
  Stack<std::int32_t> stale_;   // the stale resources
  double precision_;
  Policy policy_;
  std::uint32_t order_ = 0;
};

}  // namespace tisim
