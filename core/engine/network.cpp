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
    links_[i].slack_up_to = platform.link_bandwidth[i] * (1 + kRounding);
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
  const std::size_t first = elements_.size();
  double penalty = forward.latency;
  for (const std::int32_t link : forward.links) {
    const double bandwidth = links_[index_of(link)].capacity;
    if (pair.bound < 0 || bandwidth < pair.bound) pair.bound = bandwidth;
    penalty += model_.weight_s / bandwidth;
    add_element(first, link, 1.0);
  }
  for (const std::int32_t link : backward.links) add_element(first, link, kCrosstraffic);
  pair.elements = static_cast<std::int32_t>(first);
  pair.element_count = static_cast<std::int32_t>(elements_.size() - first);
  if (forward.latency > 0) {
    pair.penalty = penalty;
    if (model_.tcp_gamma > 0) {
      const double by_latency = model_.tcp_gamma / (2.0 * forward.latency);
      if (pair.bound < 0 || by_latency < pair.bound) pair.bound = by_latency;
    }
  }
  return add_pair(std::move(pair));
}

void Network::add_element(std::size_t first, std::int32_t link, double weight) {
  for (std::size_t i = first; i < elements_.size(); ++i) {
    if (elements_[i].link == link) {
      elements_[i].weight = links_[index_of(link)].fatpipe ? std::max(elements_[i].weight, weight)
                                                           : elements_[i].weight + weight;
      return;
    }
  }
  elements_.push_back({link, -1, weight, 0.0});
}

// What each link does to the pair alone goes into its bounds.
std::int32_t Network::add_pair(Pair pair) {
  for (std::int32_t i = 0; i < pair.element_count; ++i) {
    Element& element = elements_[index_of(pair.elements + i)];
    element.usage = element.weight / pair.penalty;
    const Link& link = links_[index_of(element.link)];
    const double most = link.capacity / element.weight;
    double& limited = link.fatpipe ? pair.bound : pair.narrowest;
    if (limited < 0 || most < limited) limited = most;
  }
  pairs_.push_back(std::move(pair));
  return static_cast<std::int32_t>(pairs_.size()) - 1;
}

// A flow whose latency is 0 has weight 1, whatever the others of its pair have.
std::int32_t Network::without_latency(std::int32_t index) {
  if (pairs_[index_of(index)].latency <= 0) return index;
  if (pairs_[index_of(index)].unpaid < 0) {
    const Pair& original = pairs_[index_of(index)];
    Pair copy;
    copy.bound = original.bound;
    copy.elements = static_cast<std::int32_t>(elements_.size());
    copy.element_count = original.element_count;
    for (std::int32_t i = 0; i < copy.element_count; ++i) {
      const Element& element = elements_[index_of(original.elements + i)];
      elements_.push_back({element.link, -1, element.weight, 0.0});
    }
    const std::int32_t made = add_pair(std::move(copy));
    pairs_[index_of(index)].unpaid = made;
  }
  return pairs_[index_of(index)].unpaid;
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
  Flow& flow = flows_[index];
  Pair& pair = pairs_[index_of(flow.pair)];
  if (pair.count == 0) {
    pair.clock = 0.0;
  } else {
    pair.clock += pair.value * (now - pair.updated);
  }
  pair.updated = now;
  flow.finish = pair.element_count == 0 ? pair.clock : pair.clock + flow.amount;
  pair.active.push_back({flow.finish, index});
  std::push_heap(pair.active.begin(), pair.active.end(),
                 [](const Active& a, const Active& b) { return a.finish > b.finish; });
  change_count(flow.pair, 1);
}

bool Network::slack(const Link& link) {
  // Shared: all pairs at their most do not fill it. Fat pipe: every flow reaches its bound before
  // the greediest of them fills the pipe.
  return (link.fatpipe ? link.reach * link.greed : link.load) <= link.slack_up_to;
}

void Network::change_count(std::int32_t index, std::int32_t by) {
  Pair& pair = pairs_[index_of(index)];
  const bool appears = pair.count == 0;
  pair.count += by;
  const bool vanishes = pair.count == 0;
  if (!pair.stale) {
    pair.stale = true;
    touched_.push_back(index);
  }
  double asked = pair.count * pair.bound;
  pair.limit = pair.bound;
  if (pair.narrowest >= 0 && !vanishes && (asked > pair.narrowest || pair.bound < 0)) {
    asked = pair.narrowest;
    pair.limit = pair.narrowest / pair.count;
  }
  const double more = asked - pair.asked;
  pair.asked = asked;
  for (std::int32_t i = 0; i < pair.element_count; ++i) {
    Element& element = elements_[index_of(pair.elements + i)];
    Link& link = links_[index_of(element.link)];
    const bool was_slack = slack(link);
    link.count += static_cast<std::int32_t>(appears) - static_cast<std::int32_t>(vanishes);
    if (link.count == 0) {
      link.load = link.reach = link.greed = 0.0;
    } else if (link.fatpipe) {
      link.reach = std::max(link.reach, pair.bound * pair.penalty);
      link.greed = std::max(link.greed, element.usage);
    } else {
      link.load += element.weight * more;
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

void Network::set_value(Pair& pair, double value, double now) {
  pair.clock += pair.value * (now - pair.updated);
  pair.updated = now;
  pair.value = value;
}

void Network::date_end(std::int32_t index, double now) {
  Pair& pair = pairs_[index_of(index)];
  pair.stale = false;
  if (pair.count == 0) {
    ends_.remove(static_cast<std::uint32_t>(index));
    return;
  }
  // The clock may be older than now while its rate has not changed: dates are absolute.
  const double left = pair.active.front().finish - pair.clock;
  if (left <= 0) {
    ends_.update(now, static_cast<std::uint32_t>(index));
  } else if (pair.value > 0) {
    ends_.update(pair.updated + left / pair.value, static_cast<std::uint32_t>(index));
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
