#include "transfer/activities.hpp"

#include <algorithm>

#include "support/invariant.hpp"

namespace tisim {

std::int32_t Activities::compute(std::int32_t host, double flops) {
  const std::int32_t activity = numbers_.acquire();
  if (transfers_.is_host_off(host)) {
    fail(activity);
  } else {
    cpu_.start(host, flops, ~activity, clock_.now());
  }
  return activity;
}

std::int32_t Activities::access(std::int32_t disk, Access kind, double bytes) {
  const std::int32_t activity = numbers_.acquire();
  if (transfers_.is_host_off(platform_.disk_host[static_cast<std::size_t>(disk)])) {
    fail(activity);
  } else {
    disks_.start(disk, kind, bytes, ~activity, clock_.now());
  }
  return activity;
}

std::int32_t Activities::transfer(std::int32_t source, std::int32_t destination, double bytes) {
  const std::int32_t pair = network_.pair(source, destination);
  if (pair < 0) return -1;
  const std::int32_t activity = numbers_.acquire();
  const bool off = transfers_.is_host_off(source) || transfers_.is_host_off(destination);
  if (off || (transfers_.may_fail() && transfers_.obstacle(pair))) {
    fail(activity);
    return activity;
  }
  transfers_.start(pair, bytes, ~activity);
  if (transfers_.may_fail()) transfers_.note_hosts(~activity, source, destination);
  return activity;
}

std::int32_t Activities::wait_until(double date) {
  const std::int32_t activity = numbers_.acquire();
  if (date > clock_.now()) {
    clock_.agenda().push(date, EventType::wake_activity, activity);
  } else {
    clock_.wake(~activity);
  }
  return activity;
}

void Activities::fail(std::int32_t activity) {
  const auto place = static_cast<std::size_t>(activity);
  failed_.resize(std::max(failed_.size(), place + 1));
  failed_[place] = true;
  clock_.wake(~activity);
}

void Activities::turn_disks_off(std::int32_t host) {
  for (std::size_t i = 0; i < platform_.disk_host.size(); ++i) {
    if (platform_.disk_host[i] != host) continue;
    const auto disk = static_cast<std::int32_t>(i);
    std::vector<std::int32_t> owners;
    disks_.list_owners(disk, owners);
    std::sort(owners.begin(), owners.end());
    for (const std::int32_t owner : owners) {
      disks_.drop(disk, owner, clock_.now());
      fail(~owner);
    }
  }
}

bool Activities::finish(std::int32_t activity) {
  numbers_.release(activity);
  const auto place = static_cast<std::size_t>(activity);
  if (place >= failed_.size() || !failed_[place]) return false;
  failed_[place] = false;
  return true;
}

void Activities::verify() const {
  ensure(failed_.size() <= numbers_.capacity(), "no more activities have failed than exist");
}

}  // namespace tisim
