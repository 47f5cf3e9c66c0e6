// The pairs of hosts that send to each other, made of their routes when they first do.

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "network/network.hpp"

namespace tisim {

namespace {
// What a flow takes from the links of the way back (network/crosstraffic).
constexpr double kCrosstraffic = 0.05;
constexpr double kBeyondRounding = 1 + 1e-13;
}  // namespace

std::int32_t Network::pair(std::int32_t source, std::int32_t destination) {
  const std::uint64_t hosts = PlatformData::key(source, destination);
  const std::int32_t found = pair_of_hosts_.find(
      hash_of(hosts), [&](std::int32_t pair) { return hosts_of_pair_[index_of(pair)] == hosts; });
  if (found >= 0) return found;
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
  hosts_of_pair_.resize(pairs_.size(), 0);
  hosts_of_pair_[index_of(made)] = hosts;
  pair_of_hosts_.insert(
      made, [this](std::int32_t pair) { return hash_of(hosts_of_pair_[index_of(pair)]); });
  return made;
}

std::int32_t Network::make_pair(const Route& forward, const Route& backward) {
  RouteType type;
  type.latency = forward.latency + (changing_ ? delay_of(forward) : 0.0);
  const std::size_t first = elements_.size();
  for (const std::int32_t link : forward.links) add_element(first, link, 1.0);
  for (const std::int32_t link : backward.links) add_element(first, link, kCrosstraffic);
  type.elements = elements_.size() - first;
  const Terms terms = terms_of(forward.links, type.latency);
  weigh(type, terms);
  const std::int32_t made = add_pair(first, type);
  if (changing_) enlist(made, {.terms = terms, .links = forward.links, .old = {}});
  return made;
}

Network::Terms Network::terms_of(const std::vector<std::int32_t>& links, double latency) const {
  Terms terms{latency, latency, -1.0};
  for (const std::int32_t link : links) {
    const double bandwidth = links_[index_of(link)].capacity;
    if (terms.bound < 0 || bandwidth < terms.bound) terms.bound = bandwidth;
    terms.penalty += penalty_of(bandwidth);
  }
  return terms;
}

// What the terms make of a flow that starts; one that pays no latency has weight 1.
void Network::weigh(RouteType& type, const Terms& terms) const {
  type.bound = bound_of(terms);
  type.penalty = type.latency > 0 ? terms.penalty : 1.0;
  type.priority = 1.0 / type.penalty;
}

// A link without bandwidth, on which nothing moves, weighs nothing.
double Network::penalty_of(double bandwidth) const {
  return bandwidth > 0 ? model_.weight_s / bandwidth : 0.0;
}

double Network::bound_of(const Terms& terms) const {
  if (terms.latency <= 0) return terms.bound;
  // A gamma of 0 leaves a flow that has a latency without any bound, as in SimGrid.
  const double by_latency = model_.tcp_gamma / (2.0 * terms.latency);
  if (by_latency <= 0) return -1.0;
  return terms.bound < 0 ? by_latency : std::min(terms.bound, by_latency);
}

void Network::add_element(std::size_t first, std::int32_t link, double more) {
  for (std::size_t i = first; i < elements_.size(); ++i) {
    if (elements_[i].link == link) {
      const double had = weight(elements_[i]);
      elements_[i].weight =
          weight_number(links_[index_of(link)].fatpipe ? std::max(had, more) : had + more);
      return;
    }
  }
  elements_.push_back({link, weight_number(more)});
}

// Few numbers are weights: how often routes lead over one link, there and back.
std::uint16_t Network::weight_number(double weight) {
  const auto found = std::find(weights_.begin(), weights_.end(), weight);
  const auto number = static_cast<std::uint16_t>(std::distance(weights_.begin(), found));
  if (found == weights_.end()) weights_.push_back(weight);
  return number;
}

// What each link does to a pair alone goes into its bounds. A flow that has no bound of its own
// does not meet one before the pipe is full, which holds back all flows on it (ADR 10): the pipe's
// bound lies above its level by more than rounding.
void Network::limit_by_links(RouteType& type, std::size_t first) const {
  const double beyond = type.bound < 0 ? kBeyondRounding : 1.0;
  type.narrowest = -1.0;
  for (std::size_t i = first; i < first + type.elements; ++i) {
    const Link& link = links_[index_of(elements_[i].link)];
    const double alone = link.capacity / weight(elements_[i]);
    const double most = link.fatpipe ? alone * beyond : alone;
    double& limited = link.fatpipe ? type.bound : type.narrowest;
    if (limited < 0 || most < limited) limited = most;
  }
}

std::uint64_t Network::hash_of_type(const RouteType& type) {
  std::uint64_t hash = type.elements;
  for (const double part : {type.penalty, type.bound, type.narrowest, type.latency}) {
    hash = hash_of(hash ^ std::bit_cast<std::uint64_t>(part));
  }
  return hash;
}

std::uint32_t Network::type_number(const RouteType& type) {
  const auto made = static_cast<std::int32_t>(types_.size());
  if (!changing_) {
    const std::int32_t found = type_index_.find(
        hash_of_type(type), [&](std::int32_t number) { return types_[index_of(number)] == type; });
    if (found >= 0) return static_cast<std::uint32_t>(found);
  }
  types_.push_back(type);
  if (!changing_) {
    type_index_.insert(
        made, [this](std::int32_t number) { return hash_of_type(types_[index_of(number)]); });
  }
  return static_cast<std::uint32_t>(made);
}

// Its elements are the last ones.
std::int32_t Network::add_pair(std::size_t first, RouteType type) {
  limit_by_links(type, first);
  Pair pair;
  pair.elements = static_cast<std::int32_t>(first);
  pair.type = type_number(type) & 0x7fffffffU;
  pairs_.push_back(pair);
  progress_.push_back({});
  return static_cast<std::int32_t>(pairs_.size()) - 1;
}

// Those of a pair with the same way; where they begin.
std::size_t Network::copy_elements(std::int32_t pair) {
  const std::size_t first = elements_.size();
  const auto from = index_of(pairs_[index_of(pair)].elements);
  const std::size_t count = way(pairs_[index_of(pair)]).size();
  for (std::size_t i = from; i < from + count; ++i) {
    elements_.push_back({elements_[i].link, elements_[i].weight});
  }
  return first;
}

// A flow whose latency is 0 has weight 1, whatever the others of its pair have.
std::int32_t Network::without_latency(std::int32_t index) {
  if (type_of(pairs_[index_of(index)]).latency <= 0) return index;
  const auto [place, is_new] = unpaid_.try_emplace(index, -1);
  if (is_new) {
    RouteType type;
    type.bound = type_of(pairs_[index_of(index)]).bound;
    type.elements = way(pairs_[index_of(index)]).size();
    place->second = add_pair(copy_elements(index), type);
    if (changing_) {
      const Course& course = changing_->courses[index_of(index)];
      enlist(place->second,
             {.terms = course.terms, .links = course.links, .pays_latency = false, .old = {}});
    }
  }
  return place->second;
}

}  // namespace tisim
