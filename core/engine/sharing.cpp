// The max-min solver of the network: which part of the system must be solved again, and how.

#include <algorithm>

#include "engine/network.hpp"

namespace tisim {

namespace {
// Links whose levels differ by rounding only saturate together.
constexpr double kLevelRounding = 1e-13;
}  // namespace

void Network::solve(double now) {
  if (touched_.empty()) return;
  ++visit_;
  for (const std::int32_t seed : dirty_links_) {
    Link& link = links_[index_of(seed)];
    link.dirty = false;
    if (link.visit == visit_) continue;
    gather(seed);
    solve_component(now);
  }
  dirty_links_.clear();
  // Pairs that no link constrains run at their bounds.
  for (const std::int32_t index : touched_) {
    Pair& pair = pairs_[index_of(index)];
    if (!pair.stale) continue;
    if (pair.count > 0 && pair.value != pair.bound) set_value(pair, pair.bound, now);
    date_end(index, now);
  }
  touched_.clear();
}

// The links and pairs that a change of link `seed` can reach, over links that are not slack.
void Network::gather(std::int32_t seed) {
  component_pairs_.clear();
  component_links_.assign(1, seed);
  links_[index_of(seed)].visit = visit_;
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    Link& link = links_[index_of(component_links_[next])];
    for (std::size_t m = 0; m < link.members.size();) {
      const Member member = link.members[m];
      Pair& pair = pairs_[index_of(member.pair)];
      if (pair.count == 0) {  // left earlier; taken off the list now
        elements_[index_of(member.element)].position = -1;
        link.members[m] = link.members.back();
        link.members.pop_back();
        if (m < link.members.size()) {
          elements_[index_of(link.members[m].element)].position = static_cast<std::int32_t>(m);
        }
        continue;
      }
      ++m;
      if (pair.visit == visit_) continue;
      pair.visit = visit_;
      component_pairs_.push_back(member.pair);
      for (std::int32_t i = 0; i < pair.element_count; ++i) {
        const std::int32_t other = elements_[index_of(pair.elements + i)].link;
        Link& reached = links_[index_of(other)];
        if (reached.visit == visit_ || slack(reached)) continue;
        reached.visit = visit_;
        component_links_.push_back(other);
      }
    }
  }
}

void Network::solve_component(double now) {
  ++solves_;
  if (component_pairs_.empty()) return;
  values_.resize(pairs_.size());
  if (component_pairs_.size() == 1) {
    solve_pair_alone(component_pairs_.front());
  } else {
    fill_up();
  }
  for (const std::int32_t index : component_pairs_) {
    Pair& pair = pairs_[index_of(index)];
    const double value = values_[index_of(index)];
    if (value != pair.value) {
      set_value(pair, value, now);
    } else if (!pair.stale) {
      continue;
    }
    date_end(index, now);
  }
}

void Network::solve_pair_alone(std::int32_t index) {
  const Pair& pair = pairs_[index_of(index)];
  double value = pair.bound;
  for (std::int32_t i = 0; i < pair.element_count; ++i) {
    const Element& element = elements_[index_of(pair.elements + i)];
    const Link& link = links_[index_of(element.link)];
    const double demand = link.fatpipe ? element.weight : element.weight * pair.count;
    value = std::min(value, link.capacity / demand);
  }
  values_[index_of(index)] = value;
}

double Network::fatpipe_usage(const Link& link) const {
  double usage = 0.0;
  for (const Member& member : link.members) {
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.count == 0 || pair.fixed) continue;
    usage = std::max(usage, elements_[index_of(member.element)].weight / pair.penalty);
  }
  return usage;
}

void Network::prepare_link(Link& link) {
  link.remaining = link.capacity;
  link.usage = 0.0;
  link.open = 0;
  for (const Member& member : link.members) {
    const Pair& pair = pairs_[index_of(member.pair)];
    if (pair.count == 0) continue;
    ++link.open;
    const double usage = elements_[index_of(member.element)].weight / pair.penalty;
    link.usage = link.fatpipe ? std::max(link.usage, usage) : link.usage + usage * pair.count;
  }
}

// Progressive filling: the link with the least room for each unit of weight saturates next and
// fixes its pairs, those first whose bounds lie below the level. Levels never fall. The thresholds
// at which a link counts as full are those of SimGrid's solver (kernel/lmm/maxmin.cpp).
void Network::fill_up() {
  open_links_.clear();
  for (const std::int32_t index : component_links_) {
    Link& link = links_[index_of(index)];
    if (slack(link)) continue;
    prepare_link(link);
    if (link.open > 0) open_links_.push_back(index);
  }
  for (const std::int32_t index : component_pairs_) pairs_[index_of(index)].fixed = false;

  std::vector<std::int32_t>& open = open_links_;
  while (!open.empty()) {
    double level = -1.0;
    for (std::size_t i = 0; i < open.size();) {
      const Link& link = links_[index_of(open[i])];
      const bool full = link.open == 0 || link.usage <= model_.precision_maxmin ||
                        link.remaining <= link.capacity * model_.precision_maxmin;
      if (full) {
        open[i] = open.back();
        open.pop_back();
        continue;
      }
      const double reached = link.remaining / link.usage;
      if (level < 0 || reached < level) level = reached;
      ++i;
    }
    if (open.empty()) break;

    bool bounded = false;
    for (const bool by_bound : {true, false}) {
      if (!by_bound && bounded) break;
      for (const std::int32_t index : open) {
        const Link& link = links_[index_of(index)];
        // Links that reach the level together saturate together: compare before anything is fixed.
        if (!(link.remaining <= level * link.usage * (1 + kLevelRounding))) continue;
        for (const Member& member : link.members) {
          const Pair& pair = pairs_[index_of(member.pair)];
          if (pair.count == 0 || pair.fixed) continue;
          if (by_bound) {
            if (pair.bound <= 0 || pair.bound * pair.penalty >= level) continue;
            bounded = true;
            fix(member.pair, pair.bound);
          } else {
            fix(member.pair, level / pair.penalty);
          }
        }
      }
    }
  }
  for (const std::int32_t index : component_pairs_) {
    if (!pairs_[index_of(index)].fixed) values_[index_of(index)] = pairs_[index_of(index)].bound;
  }
}

void Network::fix(std::int32_t index, double value) {
  Pair& pair = pairs_[index_of(index)];
  pair.fixed = true;
  values_[index_of(index)] = value;
  for (std::int32_t i = 0; i < pair.element_count; ++i) {
    const Element& element = elements_[index_of(pair.elements + i)];
    Link& link = links_[index_of(element.link)];
    if (link.visit != visit_) continue;
    --link.open;
    if (link.fatpipe) {
      link.usage = fatpipe_usage(link);
      continue;
    }
    link.remaining -= element.weight * value * pair.count;
    if (link.remaining < link.capacity * model_.precision_maxmin) link.remaining = 0.0;
    link.usage -= element.weight / pair.penalty * pair.count;
    if (link.usage < model_.precision_maxmin) link.usage = 0.0;
  }
}

}  // namespace tisim
