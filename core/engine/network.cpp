#include "engine/network.hpp"

#include <algorithm>

namespace tisim {

namespace {
// Relative rounding that sums and dates accumulate; far below every tolerance.
constexpr double kRounding = 1e-12;
constexpr double kSameDate = 4e-15;
// What a flow takes from the links of the way back (network/crosstraffic).
constexpr double kCrosstraffic = 0.05;
}  // namespace

Network::Network(const Model& model, const PlatformData& platform)
    : model_(model), platform_(platform), routes_(platform), ends_(PairPositions{this}) {
  const std::size_t count = platform.link_bandwidth.size();
  links_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    links_[i].capacity = platform.link_bandwidth[i];
    links_[i].fatpipe = platform.link_fatpipe[i] != 0;
  }
}

void Network::add_route(std::int32_t source, std::int32_t destination, Route route) {
  routes_.add(source, destination, std::move(route));
}

std::int32_t Network::pair(std::int32_t source, std::int32_t destination) {
  const std::uint64_t key = PlatformData::key(source, destination);
  const auto found = pair_of_.find(key);
  if (found != pair_of_.end()) return found->second;
  Route forward;
  Route backward;
  missing_source_ = source;
  missing_destination_ = destination;
  if (!routes_.find(source, destination, forward)) return -1;
  if (model_.crosstraffic && !routes_.find(destination, source, backward)) {
    std::swap(missing_source_, missing_destination_);
    return -1;
  }
  const std::int32_t made = make_pair(forward, backward);
  pair_of_.emplace(key, made);
  return made;
}

std::int32_t Network::make_pair(const Route& forward, const Route& backward) {
  Pair pair;
  pair.latency = forward.latency;
  pair.elements = static_cast<std::int32_t>(elements_.size());
  const std::size_t first = elements_.size();
  double narrowest = -1.0;
  double penalty = forward.latency;
  for (const std::int32_t link : forward.links) {
    const double bandwidth = links_[index_of(link)].capacity;
    if (narrowest < 0 || bandwidth < narrowest) narrowest = bandwidth;
    penalty += model_.weight_s / bandwidth;
    add_element(first, link, 1.0);
  }
  for (const std::int32_t link : backward.links) add_element(first, link, kCrosstraffic);
  pair.element_count = static_cast<std::int32_t>(elements_.size() - first);
  pair.penalty = forward.latency > 0 ? penalty : 1.0;
  pair.bound = narrowest;
  if (forward.latency > 0 && model_.tcp_gamma > 0) {
    const double by_latency = model_.tcp_gamma / (2.0 * forward.latency);
    if (pair.bound < 0 || by_latency < pair.bound) pair.bound = by_latency;
  }
  pairs_.push_back(std::move(pair));
  return static_cast<std::int32_t>(pairs_.size()) - 1;
}

void Network::add_element(std::size_t first, std::int32_t link, double weight) {
  for (std::size_t i = first; i < elements_.size(); ++i) {
    if (elements_[i].link == link) {
      elements_[i].weight = links_[index_of(link)].fatpipe ? std::max(elements_[i].weight, weight)
                                                           : elements_[i].weight + weight;
      return;
    }
  }
  elements_.push_back({link, -1, weight});
}

// A flow whose latency is 0 has weight 1, whatever the others of its pair have.
std::int32_t Network::without_latency(std::int32_t pair) {
  if (pairs_[index_of(pair)].latency <= 0) return pair;
  if (pairs_[index_of(pair)].unpaid < 0) {
    Pair copy;
    const Pair& original = pairs_[index_of(pair)];
    copy.bound = original.bound;
    copy.elements = static_cast<std::int32_t>(elements_.size());
    copy.element_count = original.element_count;
    for (std::int32_t i = 0; i < copy.element_count; ++i) {
      Element element = elements_[index_of(original.elements + i)];
      element.position = -1;
      elements_.push_back(element);
    }
    pairs_[index_of(pair)].unpaid = static_cast<std::int32_t>(pairs_.size());
    pairs_.push_back(std::move(copy));
  }
  return pairs_[index_of(pair)].unpaid;
}

std::int32_t Network::start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                            double* latency) {
  *latency = pairs_[index_of(pair)].latency * model_.latency_factor.at(bytes);
  const std::int32_t index = flows_.acquire();
  Flow& flow = flows_[index];
  flow.amount = bytes / model_.bandwidth_factor.at(bytes);
  flow.owner = owner;
  flow.order = order_++;
  flow.pair = *latency > 0 ? pair : without_latency(pair);
  if (*latency <= 0) activate(index, now);
  return index;
}

void Network::activate(std::int32_t index, double now) {
  const Flow& flow = flows_[index];
  Pair& pair = pairs_[index_of(flow.pair)];
  if (pair.count == 0) {
    pair.clock = 0.0;
    pair.updated = now;
  } else {
    advance_clock(pair, now);
  }
  const double finish = pair.element_count == 0 ? pair.clock : pair.clock + flow.amount;
  flows_[index].finish = finish;
  pair.active.push_back({finish, index});
  std::push_heap(pair.active.begin(), pair.active.end(),
                 [](const Active& a, const Active& b) { return a.finish > b.finish; });
  change_count(flow.pair, 1);
}

bool Network::slack(const Link& link) {
  if (link.fatpipe) {
    // Every flow reaches its bound before the greediest of them fills the pipe.
    return link.penalty_low * link.penalty_high <= link.capacity * (1 + kRounding);
  }
  return link.load <= link.capacity * (1 + kRounding);
}

void Network::change_count(std::int32_t index, std::int32_t by) {
  Pair& pair = pairs_[index_of(index)];
  pair.count += by;
  touch(index);
  for (std::int32_t i = 0; i < pair.element_count; ++i) {
    Element& element = elements_[index_of(pair.elements + i)];
    Link& link = links_[index_of(element.link)];
    const bool was_slack = slack(link);
    link.count += by;
    if (link.count == 0) {
      link.load = link.penalty_low = link.penalty_high = 0.0;
    } else if (link.fatpipe) {
      link.penalty_low = std::max(link.penalty_low, pair.bound * pair.penalty);
      link.penalty_high = std::max(link.penalty_high, element.weight / pair.penalty);
    } else {
      link.load += by * element.weight * pair.bound;
    }
    if (element.position < 0) {
      element.position = static_cast<std::int32_t>(link.members.size());
      link.members.push_back({index, pair.elements + i});
    }
    if (!(was_slack && slack(link)) && !link.dirty) {
      link.dirty = true;
      dirty_links_.push_back(element.link);
    }
  }
}

void Network::touch(std::int32_t index) {
  Pair& pair = pairs_[index_of(index)];
  if (!pair.stale) {
    pair.stale = true;
    touched_.push_back(index);
  }
}

void Network::advance_clock(Pair& pair, double now) {
  pair.clock += pair.value * (now - pair.updated);
  pair.updated = now;
}

void Network::set_value(Pair& pair, double value, double now) {
  advance_clock(pair, now);
  pair.value = value;
}

void Network::date_end(std::int32_t index, double now) {
  Pair& pair = pairs_[index_of(index)];
  pair.stale = false;
  if (pair.count == 0) {
    ends_.remove(static_cast<std::uint32_t>(index));
    return;
  }
  const double left = pair.active.front().finish - pair.clock;
  if (left <= 0) {
    ends_.update(now, static_cast<std::uint32_t>(index));
  } else if (pair.value > 0) {
    ends_.update(now + left / pair.value, static_cast<std::uint32_t>(index));
  } else {
    ends_.remove(static_cast<std::uint32_t>(index));  // starved: some other change must help it
  }
}

void Network::collect_ended(double now, std::vector<std::int32_t>& owners) {
  ended_.clear();
  const double latest = now * (1 + kSameDate);
  while (!ends_.empty() && ends_.top_date() <= latest) {
    const auto index = static_cast<std::int32_t>(ends_.top_id());
    ends_.pop();
    Pair& pair = pairs_[index_of(index)];
    pair.clock = pair.active.front().finish;
    pair.updated = now;
    const double done = pair.clock * (1 + kSameDate);
    std::int32_t gone = 0;
    while (!pair.active.empty() && pair.active.front().finish <= done) {
      const std::int32_t flow = pair.active.front().flow;
      std::pop_heap(pair.active.begin(), pair.active.end(),
                    [](const Active& a, const Active& b) { return a.finish > b.finish; });
      pair.active.pop_back();
      ended_.push_back(flows_[flow]);
      flows_.release(flow);
      ++gone;
    }
    change_count(index, -gone);
  }
  if (ended_.size() > 1) {
    std::sort(ended_.begin(), ended_.end(),
              [](const Flow& a, const Flow& b) { return a.order < b.order; });
  }
  for (const Flow& flow : ended_) owners.push_back(flow.owner);
}

}  // namespace tisim
