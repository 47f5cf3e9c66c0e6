// Pairs that all wait for one link: see ADR 17.
//
// Where many pairs fill one link and nothing else holds them back, a flow that starts or ends moves
// the shares of all of them, by one factor. They follow one clock then, that of their *bottleneck*,
// which counts the level of the link over time; what a flow of a pair has moved is that times the
// pair's weight, and the order in which their flows end does not change with the level. A flow
// that starts or ends costs its own route only, as long as it can be shown that the solution keeps
// its form: the level stays above those of all pairs that something else holds back, and below
// those at which any other link or a limit would hold back a pair of the bottleneck.

#include <algorithm>
#include <limits>

#include "network/network.hpp"

namespace tisim {

namespace {
// Sums are taken anew after that many changes, so that rounding does not add up.
constexpr std::int32_t kChanges = 1000;
}  // namespace

// Moves the clock of a bottleneck on.
void Network::advance(Bottleneck& bottleneck, double now) {
  if (load_) {
    bottleneck.ends.for_each([&](std::uint32_t pair) {
      const Pair& member = pairs_[pair];
      charge(pair, bottleneck.level * priority(member), bottleneck.updated, now);
    });
  }
  bottleneck.clock += bottleneck.level * (now - bottleneck.updated);
  bottleneck.updated = now;
}

// Moves the clock of a pair of a bottleneck on.
void Network::advance_with_others(std::int32_t index, double now) {
  const Pair& pair = pairs_[index_of(index)];
  Progress& progress = progress_[index_of(index)];
  Bottleneck& bottleneck = bottlenecks_[index_of(pair.bottleneck)];
  advance(bottleneck, now);
  progress.clock += priority(pair) * (bottleneck.clock - progress.updated);
  progress.updated = bottleneck.clock;
}

// All pairs of the component that are not fixed yet wait for `link`.
void Network::propose(const Link& link, double level) {
  if (link.fatpipe || changing_ || held_up_ || nearby_ || resumed_at_ > 0) return;
  if (unfixed_ < std::max(kFewest, component_.size() / 2)) return;
  double highest = std::numeric_limits<double>::infinity();
  for (const Link* other : open_links_) {
    if (other == &link || other->open == 0) continue;
    highest = std::min(highest, other->remaining / other->usage);
  }
  for (const std::int32_t index : component_) {
    if (is_fixed(index)) continue;
    const Pair& pair = pairs_[index_of(index)];
    highest = std::min(highest, pair.limit * penalty(pair));
  }
  const Bounds bounds{lowest_, highest};
  if (bounds.hold(level)) proposal_ = {&link, shares_.size(), bounds};
}

// Makes the solution of the component that of a bottleneck.
void Network::form(double now) {
  const auto link = static_cast<std::int32_t>(proposal_.link - links_.data());
  std::int32_t& number = links_[index_of(link)].own;
  if (number < 0) {
    number = static_cast<std::int32_t>(bottlenecks_.size());
    bottlenecks_.emplace_back(PairPositions{this}).link = link;
  }
  Bottleneck& bottleneck = bottlenecks_[index_of(number)];
  ++bottlenecks_in_use_;
  bottleneck.changes = 0;
  bottleneck.clock = 0.0;
  bottleneck.updated = now;
  bottleneck.remaining = links_[index_of(link)].remaining;
  bottleneck.usage = links_[index_of(link)].usage;
  bottleneck.bounds = proposal_.bounds;
  bottleneck.links.assign(component_links_.begin(), component_links_.end());
  for (const std::int32_t other : component_links_) links_[index_of(other)].held_by = number;
  for (std::size_t i = proposal_.first; i < shares_.size(); ++i) {
    const auto [index, share] = shares_[i];
    advance(index, now);
    ends_.remove(static_cast<std::uint32_t>(index));
    pairs_[index_of(index)].value = share;
    join(number, index);
  }
  set_level(bottleneck, bottleneck.remaining / bottleneck.usage);
}

// The clock of the pair is right.
void Network::join(std::int32_t number, std::int32_t index) {
  Bottleneck& bottleneck = bottlenecks_[index_of(number)];
  Pair& pair = pairs_[index_of(index)];
  pair.bottleneck = number;
  pair.counted = pair.count;
  progress_[index_of(index)].updated = bottleneck.clock;
  order_end(bottleneck, index);
}

void Network::order_end(Bottleneck& bottleneck, std::int32_t index) {
  Pair& pair = pairs_[index_of(index)];
  pair.stale = false;
  const Progress& progress = progress_[index_of(index)];
  const double left = std::max(flows_[progress.first_flow].finish - progress.clock, 0.0);
  bottleneck.ends.update(progress.updated + left * penalty(pair),
                         static_cast<std::uint32_t>(index));
}

void Network::set_level(Bottleneck& bottleneck, double level) {
  bottleneck.level = level;
  const auto number = static_cast<std::uint32_t>(&bottleneck - bottlenecks_.data());
  bottleneck_ends_.update(date_of(bottleneck), number);
}

double Network::date_of(const Bottleneck& bottleneck) const {
  const double left = std::max(bottleneck.ends.top_date() - bottleneck.clock, 0.0);
  return bottleneck.updated + left / bottleneck.level;
}

// Its pairs are solved for again, one by one.
void Network::dissolve(std::int32_t number, double now) {
  Bottleneck& bottleneck = bottlenecks_[index_of(number)];
  bottleneck.broken = false;
  --bottlenecks_in_use_;
  whole_ = true;
  bottleneck_ends_.remove(static_cast<std::uint32_t>(number));
  advance(bottleneck, now);
  const std::size_t count = touched_.size();
  bottleneck.ends.for_each([&](std::uint32_t index) {
    leave(static_cast<std::int32_t>(index), bottleneck);
    if (!pairs_[index].stale) {
      pairs_[index].stale = true;
      touched_.push_back(static_cast<std::int32_t>(index));
    }
  });
  // Those that a flow of has ended just now are in no heap.
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t index = touched_[i];
    if (pairs_[index_of(index)].bottleneck == number) leave(index, bottleneck);
  }
  bottleneck.ends.clear();
  for (const std::int32_t held : bottleneck.links) links_[index_of(held)].held_by = -1;
  Link& link = links_[index_of(bottleneck.link)];
  link.saturation = kUnknown;
  if (!link.dirty) {
    link.dirty = true;
    dirty_links_.push_back(bottleneck.link);
  }
}

// The clock of the bottleneck is right.
void Network::leave(std::int32_t index, const Bottleneck& bottleneck) {
  Pair& pair = pairs_[index_of(index)];
  Progress& progress = progress_[index_of(index)];
  progress.clock += priority(pair) * (bottleneck.clock - progress.updated);
  progress.updated = bottleneck.updated;
  pair.value = bottleneck.level * priority(pair);
  pair.bottleneck = -1;
}

// Takes account of what has changed at this instant where the solution keeps its form; dissolves
// the bottlenecks of all else.
void Network::adjust_bottlenecks(double now) {
  adjusted_.clear();
  const std::size_t count = touched_.size();
  for (std::size_t i = 0; i < count; ++i) adjust(touched_[i], now);
  for (const std::int32_t number : adjusted_) {
    Bottleneck& bottleneck = bottlenecks_[index_of(number)];
    bottleneck.adjusted = false;
    const double level = bottleneck.remaining / bottleneck.usage;
    const bool holds = !bottleneck.broken && !bottleneck.ends.empty() &&
                       !slack(links_[index_of(bottleneck.link)]) && bottleneck.changes < kChanges &&
                       bottleneck.bounds.hold(level);
    if (holds) {
      advance(bottleneck, now);
      set_level(bottleneck, level);
    } else {
      dissolve(number, now);
    }
  }
}

// A pair whose flows have become more or fewer.
void Network::adjust(std::int32_t index, double now) {
  Pair& pair = pairs_[index_of(index)];
  std::int32_t number = pair.bottleneck;
  double weighs = 0.0;  // on the bottleneck
  for (const Element& element : way(pair)) {
    const std::int32_t holder = links_[index_of(element.link)].held_by;
    if (holder < 0) continue;
    if (number >= 0 && number != holder) {  // it joins two components
      note_adjusted(number).broken = true;
      note_adjusted(holder).broken = true;
    }
    number = holder;
    if (bottlenecks_[index_of(holder)].link == element.link) weighs = weight(element);
    note_adjusted(holder);
  }
  if (number < 0) return;
  Bottleneck& bottleneck = bottlenecks_[index_of(number)];
  ++bottleneck.changes;
  const bool member = pair.bottleneck == number;
  const std::int32_t more = pair.count - (member ? pair.counted : 0);
  bottleneck.usage += weighs * priority(pair) * more;
  for (const Element& element : way(pair)) {
    Link& link = links_[index_of(element.link)];
    if (link.held_by == number) link.usage += weight(element) * priority(pair) * more;
  }
  if (member) {
    pair.counted = pair.count;
    if (pair.count > 0) {
      order_end(bottleneck, index);
    } else {
      pair.bottleneck = -1;
      progress_[index_of(index)].updated = now;
    }
  } else if (weighs <= 0 || pair.value > 0 || pair.count == 0) {
    // Something that is no part of the bottleneck has changed in its component.
    bottleneck.broken |= pair.value > 0 || pair.count > 0;
  } else if (!bottleneck.broken) {
    progress_[index_of(index)].updated = now;
    advance(bottleneck, now);
    join(number, index);
  }
  if (more > 0 && !bottleneck.broken) bottleneck.broken = !fits(bottleneck, pair);
}

Network::Bottleneck& Network::note_adjusted(std::int32_t number) {
  Bottleneck& bottleneck = bottlenecks_[index_of(number)];
  if (!bottleneck.adjusted) {
    bottleneck.adjusted = true;
    adjusted_.push_back(number);
  }
  return bottleneck;
}

// The level up to which the links of a pair of a bottleneck, and its limit, leave it alone.
bool Network::fits(Bottleneck& bottleneck, const Pair& pair) {
  bottleneck.bounds.highest = std::min(bottleneck.bounds.highest, pair.limit * penalty(pair));
  const auto number = static_cast<std::int32_t>(&bottleneck - bottlenecks_.data());
  for (const Element& element : way(pair)) {
    Link& link = links_[index_of(element.link)];
    if (element.link == bottleneck.link || slack(link)) continue;
    if (link.fatpipe) return false;
    if (link.held_by != number && !hold(element.link, number)) return false;
    bottleneck.bounds.highest = std::min(bottleneck.bounds.highest, link.remaining / link.usage);
  }
  return true;
}

// A link that was slack becomes one of the bottleneck's. False: it has other pairs, or many.
bool Network::hold(std::int32_t index, std::int32_t number) {
  Link& link = links_[index_of(index)];
  if (link.members.size() > kMost) return false;
  link.remaining = link.capacity;
  link.usage = 0.0;
  for (const Member& member : link.members) {
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.bottleneck == number) {
      link.usage += weight(member) * priority(pair) * pair.count;
    } else if (pair.count > 0) {
      return false;
    }
  }
  link.held_by = number;
  bottlenecks_[index_of(number)].links.push_back(index);
  return true;
}

// Takes out the flows of bottlenecks that end.
void Network::collect_from_bottlenecks(double now, double latest) {
  while (!bottleneck_ends_.empty() && bottleneck_ends_.top_date() <= latest) {
    Bottleneck& bottleneck = bottlenecks_[bottleneck_ends_.top_id()];
    const auto index = static_cast<std::int32_t>(bottleneck.ends.top_id());
    advance(bottleneck, now);
    bottleneck.ends.pop();
    end_flows(index, now);
    if (bottleneck.ends.empty()) {
      bottleneck_ends_.pop();
    } else {
      bottleneck_ends_.update(date_of(bottleneck), bottleneck_ends_.top_id());
    }
  }
}

}  // namespace tisim
