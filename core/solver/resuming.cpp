// From which level on shares must be found anew: see ADR 18.
//
// Progressive filling raises the level of all pairs together until something holds back some of
// them. Up to the level at which a link that has changed was full before, or is full now, nothing
// differs from the last time: pairs that were held back below it keep their shares, and only the
// others are gathered and filled up.

#include <algorithm>

#include "network/network.hpp"

namespace tisim {

namespace {
// Levels that are as close as that may be the same.
constexpr double kSameLevel = 1e-9;
constexpr int kSteps = 8;
}  // namespace

// The level below which no pair's share changes, 0: not known.
double Network::resume_level() {
  if (changing_) return 0.0;
  bool any = false;
  double lowest = kHasRoom;
  for (const std::int32_t index : dirty_links_) {
    const Link& link = links_[index_of(index)];
    if (link.count == 0 || is_held(link)) continue;
    if (link.saturation == kUnknown || link.fatpipe) return 0.0;
    if (link.saturation == kNobody) continue;
    any = true;
    lowest = std::min(lowest, link.saturation);
  }
  if (!any) return 0.0;
  for (const std::int32_t index : dirty_links_) {
    const Link& link = links_[index_of(index)];
    if (link.count == 0 || is_held(link) || slack(link)) continue;
    lowest = saturates_at(link, lowest);
    if (lowest <= 0) return 0.0;
  }
  return lowest * (1 - kSameLevel);
}

// A level up to which the link has room for all its pairs, at most `most`: those that were held
// back at a lower level take what they took, the others as much as their weights. Newton's method
// on a concave function, from below: every step is such a level.
double Network::saturates_at(const Link& link, double most) {
  askers_.clear();
  double usage = 0.0;
  for (const Member& member : link.members) {
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.bottleneck >= 0) return 0.0;
    if (pair.count == 0) continue;
    const double share = pair.stale ? pair.limit : pair.value;
    const double weighs = weight(member) * priority(pair) * pair.count;
    askers_.push_back({weighs, share * penalty(pair)});
    usage += weighs;
  }
  double level = link.capacity / usage;
  for (int step = 0; step < kSteps && level < most; ++step) {
    double left = link.capacity;
    double rising = 0.0;
    for (const auto& [weighs, held_at] : askers_) {
      if (held_at < level) {
        left -= weighs * held_at;
      } else {
        rising += weighs;
      }
    }
    if (rising <= 0) return most;
    const double next = left / rising;
    if (!(next > level * (1 + kSameLevel))) break;
    level = next;
  }
  return std::min(level, most);
}

// What is slack holds nobody back; it may have been full before.
void Network::note_slack_links() {
  for (const std::int32_t index : dirty_links_) {
    Link& link = links_[index_of(index)];
    if (link.count == 0 || slack(link)) link.saturation = kNobody;
  }
}

}  // namespace tisim
