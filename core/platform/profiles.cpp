#include "platform/profiles.hpp"

#include <algorithm>

namespace tisim {

bool ResourceProfile::rises() const {
  return std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

Changes::Changes(const std::vector<ResourceProfile>& profiles)
    : profiles_(profiles), over_(profiles.size(), false) {
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    push(profiles[i].times.front(), static_cast<std::int32_t>(i), 0, 0.0);
  }
}

void Changes::kill(std::int32_t rank, double date) {
  ++kills_;
  push(date, ~rank, 0, 0.0);
}

Change Changes::pop() {
  const Entry entry = queue_.top();
  queue_.pop();
  if (entry.profile < 0) {
    --kills_;
    return {entry.date, false, ~entry.profile, Quantity::life, 0.0};
  }
  const auto index = static_cast<std::size_t>(entry.profile);
  const ResourceProfile& profile = profiles_[index];
  if (entry.step + 1 < profile.times.size()) {
    push(entry.start + profile.times[entry.step + 1], entry.profile, entry.step + 1, entry.start);
  } else if (profile.period > 0) {
    const double start = entry.start + profile.period;
    push(start + profile.times.front(), entry.profile, 0, start);
  } else {
    over_[index] = true;
  }
  return {entry.date, profile.is_link, profile.index, profile.what, profile.values[entry.step]};
}

bool Changes::rises(bool is_link, std::int32_t index, Quantity what) const {
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    const ResourceProfile& profile = profiles_[i];
    if (over_[i] || profile.is_link != is_link || profile.index != index || profile.what != what) {
      continue;
    }
    if (profile.rises()) return true;
  }
  return false;
}

}  // namespace tisim
