// A large component is not solved whole but near what has changed: see ADR 21.
//
// A link is full at a *level*, and a pair's level (share times penalty) is the least of those of
// its links and of its limit. So a change of a link moves the pairs that it holds back, and these
// move the other links that they cross. The part that is solved grows until nothing outside of it
// can move: no pair outside is above the level of a link that the part crosses, and none waits for
// such a link that now is full at a higher level, or has room. Then the whole is max-min fair.

#include <algorithm>
#include <limits>

#include "network/network.hpp"

namespace tisim {

namespace {
// Levels that are as close as that are the same.
constexpr double kSameLevel = 1e-12;
// A link that lacks so little was full.
constexpr double kFull = 1 - 1e-9;
}  // namespace

// False: that cannot be done, and no share has changed.
bool Network::solve_nearby(std::int32_t seed, int large, double now) {
  begin_component();
  links_[index_of(seed)].visit = visit_;
  component_links_.push_back(seed);
  met_ = 0;
  around_.clear();
  nearby_ = true;
  bool possible = meet_links();
  for (bool grows = true; possible && grows;) {
    ++solves_;
    const std::size_t count = component_.size();
    weigh_nearby();
    shares_.clear();
    fill_up();
    for (const std::int32_t pair : component_) pairs_[index_of(pair)].mark = visit_;
    possible = complete() && meet_links();
    grows = component_.size() > count;
  }
  nearby_ = false;
  first_visit_ = visit_ + 2;  // those that were gathered may be gathered again
  if (!possible) {
    // What was found of them on the way is no solution.
    for (const std::int32_t index : component_links_) links_[index_of(index)].saturation = kUnknown;
    return false;
  }
  for (const std::int32_t index : component_links_) {
    links_[index_of(index)].dirty = false;
    links_[index_of(index)].large = static_cast<std::uint8_t>(large);
  }
  for (const auto& [index, share] : shares_) give(index, share, now);
  return true;
}

bool Network::meet_links() {
  for (; met_ < component_links_.size(); ++met_) {
    Surroundings around;
    if (!meet(links_[index_of(component_links_[met_])], around.before)) return false;
    around_.push_back(around);
  }
  return true;
}

// Finds out how full a link was, and which of its pairs must move if it has changed.
bool Network::meet(Link& link, double& before) {
  if (is_held(link) || link.fatpipe) return false;
  double taken = 0.0;
  double top = 0.0;
  for (const Member& member : link.members) {
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.bottleneck >= 0) return false;
    if (pair.counted == 0) continue;
    taken += weight(member) * pair.value * pair.counted;
    top = std::max(top, pair.value * penalty(pair));
  }
  before = taken >= link.capacity * kFull ? top : kHasRoom;
  if (static_cast<std::size_t>(link.count) < link.members.size()) sweep_members(link);
  if (!link.dirty && met_ > 0) return true;
  const double level = slack(link) ? before : saturates_at(link, before);
  for (const Member& member : link.members) {
    if (pairs_[index_of(member.pair)].stale) include(member.pair);
  }
  return include_from(link, level * (1 - kSameLevel));
}

// The pairs of a link from a level on. False: they may be too many to be a part.
bool Network::include_from(const Link& link, double level) {
  if (level == kHasRoom) return true;
  if (link.count > kCrowd) return false;
  for (const Member& member : link.members) {
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.value * penalty(pair) >= level) include(member.pair);
  }
  return true;
}

void Network::include(std::int32_t index) {
  Pair& pair = pairs_[index_of(index)];
  if (pair.mark == visit_ || pair.count == 0) return;
  pair.mark = visit_;
  component_.push_back(index);
  for (const Element& element : way(pair)) {
    Link& link = links_[index_of(element.link)];
    if (link.visit == visit_ || (slack(link) && !link.dirty)) continue;
    link.visit = visit_;
    component_links_.push_back(element.link);
  }
}

// What the part weighs on each link, and what all others leave of it.
void Network::weigh_nearby() {
  lowest_limit_ = kHasRoom;
  for (const std::int32_t index : component_) {
    const Pair& pair = pairs_[index_of(index)];
    lowest_limit_ = std::min(lowest_limit_, pair.limit * penalty(pair));
  }
  for (std::size_t i = 0; i < component_links_.size(); ++i) {
    Link& link = links_[index_of(component_links_[i])];
    link.remaining = link.capacity;
    link.usage = 0.0;
    link.open = 0;
    link.slot = -1;
    link.changed = false;
    double outside = 0.0;
    for (const Member& member : link.members) {
      const Pair& pair = pairs_[index_of(member.pair)];
      if (pair.count == 0) continue;
      const double weighs = weight(member) * pair.count;
      if (pair.mark == visit_) {
        link.usage += weighs * priority(pair);
        ++link.open;
      } else {
        link.remaining -= weighs * pair.value;
        outside = std::max(outside, pair.value * penalty(pair));
      }
    }
    around_[i].outside = outside;
  }
}

// Takes in the pairs outside that may move. False: they may be too many.
bool Network::complete() {
  const std::size_t count = component_links_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Link& link = links_[index_of(component_links_[i])];
    const double outside = around_[i].outside;
    if (outside <= 0 || slack(link)) continue;
    const double full = link.saturation;
    const double before = around_[i].before * (1 - kSameLevel);
    double from = kHasRoom;
    if (full == kUnknown) {
      from = 0.0;
    } else {
      // Whom it held back may have more, and nobody has more than whom it holds back.
      if (before < full * (1 - 2 * kSameLevel)) from = before;
      if (full * (1 + kSameLevel) < outside) from = std::min(from, full * (1 + kSameLevel));
    }
    if (from <= outside && !include_from(link, from)) return false;
  }
  return true;
}

}  // namespace tisim
