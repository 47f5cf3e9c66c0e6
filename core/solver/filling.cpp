// The max-min solver of the network: which part of the system must be solved again, and how.

#include <algorithm>
#include <limits>

#include "network/network.hpp"

namespace tisim {

namespace {
// Links whose levels differ by rounding only saturate together.
constexpr double kLevelRounding = 1 + 1e-13;
// Marks are numbered up to here before they are all taken back.
constexpr std::uint32_t kVisits = 0xf0000000U;
// Pairs of a component whose levels are worth being kept for the next time.
constexpr std::size_t kWorthKeeping = 32;
// A component that was large is taken for large so many times without a look.
constexpr int kAssumed = 31;
}  // namespace

void Network::solve(double now) {
  if (visit_ > kVisits) forget_visits();
  first_visit_ = visit_ + 2;
  if (bottlenecks_in_use_ > 0) adjust_bottlenecks(now);
  resumed_at_ = resume_level();
  for (std::size_t i = 0; i < dirty_links_.size(); ++i) {
    const std::int32_t seed = dirty_links_[i];
    Link& link = links_[index_of(seed)];
    if (!link.dirty) continue;
    link.dirty = false;
    if (is_held(link) || link.visit >= first_visit_ || link.count == 0) continue;
    const bool may_be_part = !whole_ && changing_ == nullptr && link.count <= kCrowd;
    const bool is_large = may_be_part && link.large > 0;
    if (!is_large && gather(seed, may_be_part ? large_ : kAny, now)) {
      solve_component(now);
    } else if (!solve_nearby(seed, is_large ? link.large - 1 : kAssumed, now)) {
      gather(seed, kAny, now);
      solve_component(now);
    }
  }
  whole_ = false;
  note_slack_links();
  dirty_links_.clear();
  // Pairs that no link constrains run at their limits.
  for (const std::int32_t index : touched_) {
    Pair& pair = pairs_[index_of(index)];
    if (!pair.stale) continue;
    give(index, pair.count > 0 ? pair.limit : 0.0, now);
  }
  touched_.clear();
}

// A pair's share for what it has now.
void Network::give(std::int32_t index, double share, double now) {
  Pair& pair = pairs_[index_of(index)];
  if (share != pair.value) {
    advance(index, now);
    pair.value = share;
  } else if (!pair.stale) {
    return;
  }
  if (pair.bottleneck < 0) pair.counted = pair.count;
  date_end(index, now);
}

void Network::forget_visits() {
  visit_ = 0;
  for (Link& link : links_) link.visit = 0;
  for (Pair& pair : pairs_) pair.mark = 0;
}

// The links and pairs that a change of link `seed` can reach, over links that are not slack and
// pairs that do not keep their shares, and what these pairs weigh on each link. False: they are
// more than `most`.
bool Network::gather(std::int32_t seed, std::size_t most, double now) {
  begin_component();
  reach(seed);
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    Link& link = links_[index_of(component_links_[next])];
    if (static_cast<std::size_t>(link.count) < link.members.size()) to_sweep_.push_back(&link);
    for (const Member member : link.members) {
      Pair& pair = pairs_[index_of(member.pair)];
      if (pair.mark >= first_visit_ || pair.count == 0) continue;
      if (pair.bottleneck >= 0) {
        dissolve(pair.bottleneck, now);
        if (resumed_at_ > 0) {  // more has changed than was known when that was decided
          resumed_at_ = 0.0;
          first_visit_ = visit_ + 2;
          return gather(seed, most, now);
        }
      }
      const RouteType& type = type_of(pair);
      if (!pair.stale && pair.value * type.penalty < resumed_at_) {
        ++kept_;
        link.remaining -= weight(member) * pair.value * pair.count;
        continue;
      }
      pair.mark = visit_;
      component_.push_back(member.pair);
      lowest_limit_ = std::min(lowest_limit_, pair.limit * type.penalty);
      const double usage = type.priority * pair.count;
      for (const Element& element : way(pair)) {
        Link& reached = links_[index_of(element.link)];
        if (reached.visit < first_visit_) {
          if (slack(reached)) continue;
          reach(element.link);
        }
        reached.usage += weight(element) * usage;
        ++reached.open;
      }
    }
    if (component_.size() > most && !whole_) return false;
  }
  for (Link* link : to_sweep_) sweep_members(*link);
  return true;
}

void Network::begin_component() {
  visit_ += 2;
  component_.clear();
  component_links_.clear();
  to_sweep_.clear();
  lowest_limit_ = kHasRoom;
  kept_ = 0;
}

void Network::reach(std::int32_t index) {
  Link& link = links_[index_of(index)];
  link.visit = visit_;
  link.saturation = kUnknown;
  link.remaining = link.capacity;
  link.usage = 0.0;
  link.open = 0;
  link.slot = -1;
  link.changed = false;
  component_links_.push_back(index);
}

// Takes pairs off the list that have no flows any more.
void Network::sweep_members(Link& link) {
  for (std::size_t m = 0; m < link.members.size();) {
    const Member member = link.members[m];
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.count > 0) {
      ++m;
      continue;
    }
    way(pair)[member.place].listed = false;
    link.members[m] = link.members.back();
    link.members.pop_back();
  }
}

void Network::solve_component(double now) {
  if (component_.empty()) return;  // all of them keep their shares, or have others already
  ++solves_;
  shares_.clear();
  proposal_.link = nullptr;
  if (resumed_at_ > 0) {
    fill_up();
  } else if (component_.size() == 1) {
    shares_.push_back({component_[0], pairs_[index_of(component_[0])].limit});
  } else if (component_.size() <= ShareCache::kLargest) {
    std::uint64_t hash = 0;
    for (const std::int32_t pair : component_) {
      hash += ShareCache::hash(pair, pairs_[index_of(pair)].count);
    }
    ShareCache::Solution& place = cache_.place(hash);
    if (!recall(place, hash)) {
      fill_up();
      remember(place, hash);
    }
  } else {
    fill_up();
  }
  if (proposal_.link != nullptr) {
    form(now);
    shares_.resize(proposal_.first, {});
  }
  for (const auto& [index, share] : shares_) give(index, share, now);
}

// Takes the shares from a kept solution, if it is that of this component.
bool Network::recall(ShareCache::Solution& place, std::uint64_t hash) {
  if (place.hash != hash || place.size != component_.size()) return false;
  for (std::size_t i = 0; i < place.size; ++i) {
    const ShareCache::Share& share = place.shares[i];
    if (is_fixed(share.pair) || pairs_[index_of(share.pair)].count != share.count) {
      shares_.clear();
      return false;
    }
    shares_.push_back({share.pair, share.value});
  }
  return true;
}

void Network::remember(ShareCache::Solution& place, std::uint64_t hash) const {
  place.hash = hash;
  place.size = shares_.size();
  for (std::size_t i = 0; i < place.size; ++i) {
    const auto [pair, share] = shares_[i];
    place.shares[i] = {pair, pairs_[index_of(pair)].count, share};
  }
}

double Network::fatpipe_usage(const Link& link) const {
  double usage = 0.0;
  for (const Member& member : link.members) {
    if (is_fixed(member.pair)) continue;
    usage = std::max(usage, weight(member) * priority(pairs_[index_of(member.pair)]));
  }
  return usage;
}

void Network::open(Link& link) {
  link.slot = static_cast<std::int32_t>(open_links_.size());
  open_links_.push_back(&link);
  levels_.push_back(link.remaining / link.usage);
}

void Network::close(Link& link) {
  const auto slot = index_of(link.slot);
  link.slot = -1;
  Link* last = open_links_.back();
  if (last != &link) {
    last->slot = static_cast<std::int32_t>(slot);
    open_links_[slot] = last;
    levels_[slot] = levels_.back();
  }
  open_links_.pop_back();
  levels_.pop_back();
}

// Progressive filling: the link with the least room for each unit of weight saturates next and
// fixes its pairs, after all those whose limits lie below that level. Levels never fall. The
// thresholds at which a link counts as full are those of SimGrid's solver (kernel/lmm/maxmin.cpp).
void Network::fill_up() {
  open_links_.clear();
  levels_.clear();
  changed_.clear();
  const bool keep = nearby_ || component_.size() + kept_ >= kWorthKeeping;
  for (const std::int32_t index : component_links_) {
    Link& link = links_[index_of(index)];
    if (slack(link)) continue;
    link.saturation = keep ? kHasRoom : kUnknown;
    if (link.fatpipe) {
      link.remaining = link.capacity;
      link.usage = fatpipe_usage(link);
    }
    open(link);
    if (nearby_ || resumed_at_ > 0) change(link);  // what others keep may leave nothing of it
  }
  unfixed_ = component_.size();
  lowest_ = 0.0;
  held_up_ = false;
  for (;;) {
    update_levels();
    if (open_links_.empty()) break;
    const double level = lowest_level();
    if (!fix_bounded(level)) saturate(level);
  }
  for (const std::int32_t pair : component_) {
    if (!is_fixed(pair)) shares_.push_back({pair, pairs_[index_of(pair)].limit});
  }
}

// Of the links on which something was fixed.
void Network::update_levels() {
  for (Link* link : changed_) {
    link->changed = false;
    if (link->slot < 0) continue;
    if (link->open == 0 || link->usage <= model_.precision_maxmin ||
        link->remaining <= link->capacity * model_.precision_maxmin) {
      if (link->open > 0) {
        held_up_ = true;
        link->saturation = kUnknown;
      }
      close(*link);
    } else {
      levels_[index_of(link->slot)] = link->remaining / link->usage;
    }
  }
  changed_.clear();
}

// Of the links that have pairs to fix; there is one at least.
double Network::lowest_level() const {
  // Four at a time: each would wait for the one before.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double lowest[4] = {kNone, kNone, kNone, kNone};
  std::size_t i = 0;
  for (; i + 4 <= levels_.size(); i += 4) {
    for (std::size_t j = 0; j < 4; ++j) lowest[j] = std::min(lowest[j], levels_[i + j]);
  }
  for (; i < levels_.size(); ++i) lowest[0] = std::min(lowest[0], levels_[i]);
  return std::min(std::min(lowest[0], lowest[1]), std::min(lowest[2], lowest[3]));
}

// The flow that fills a fat pipe has the pipe's level as its bound, but for rounding. In SimGrid
// the last bit of this comparison decides what the others get, so the numbers are the same here
// (docs/adr/0010-fat-pipes.md).
bool Network::fix_bounded(double level) {
  if (lowest_limit_ >= level) return false;
  bool any = false;
  lowest_limit_ = std::numeric_limits<double>::infinity();
  for (const std::int32_t index : component_) {
    if (is_fixed(index)) continue;
    const Pair& pair = pairs_[index_of(index)];
    const double limit = pair.limit * penalty(pair);
    if (limit >= level) {
      lowest_limit_ = std::min(lowest_limit_, limit);
    } else {
      any = true;
      fix(index, pair.limit);
    }
  }
  return any;
}

void Network::saturate(double level) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (!(levels_[i] <= level * kLevelRounding)) continue;
    Link* link = open_links_[i];
    if (link->open == 0) continue;  // others that are full at this level have fixed all of them
    if (link->saturation == kHasRoom) link->saturation = level;
    if (saturate_all(*link, level)) return;
    for (const Member& member : link->members) {
      if (!is_fixed(member.pair)) fix(member.pair, level * priority(pairs_[index_of(member.pair)]));
    }
  }
}

// When all pairs that are left are on one link, nobody asks for the rooms of the others again.
bool Network::saturate_all(Link& link, double level) {
  if (static_cast<std::size_t>(link.open) != unfixed_) return false;
  // It may be worth a bottleneck next time, which takes all pairs to form.
  if (resumed_at_ > 0 && unfixed_ >= std::max(kFewest, component_.size() / 2)) {
    link.saturation = kUnknown;
  }
  if (component_.size() > ShareCache::kLargest) propose(link, level);
  for (const std::int32_t index : component_) {
    if (is_fixed(index)) continue;
    Pair& pair = pairs_[index_of(index)];
    pair.mark = visit_ + 1;
    shares_.push_back({index, level * priority(pair)});
  }
  open_links_.clear();
  levels_.clear();
  changed_.clear();
  return true;
}

void Network::fix(std::int32_t index, double share) {
  Pair& pair = pairs_[index_of(index)];
  const RouteType& type = type_of(pair);
  pair.mark = visit_ + 1;
  --unfixed_;
  shares_.push_back({index, share});
  lowest_ = std::max(lowest_, share * type.penalty);
  const double taken = share * pair.count;
  const double usage = type.priority * pair.count;
  for (const Element& element : way(pair)) {
    Link& link = links_[index_of(element.link)];
    if (link.visit != visit_) continue;
    --link.open;
    change(link);
    if (link.fatpipe) {
      link.usage = fatpipe_usage(link);
      continue;
    }
    link.remaining -= weight(element) * taken;
    link.usage -= weight(element) * usage;
  }
}

void Network::change(Link& link) {
  if (link.changed) return;
  link.changed = true;
  changed_.push_back(&link);
}

}  // namespace tisim
