#include "network/host_pairs.hpp"

#include <utility>

#include "support/invariant.hpp"

namespace tisim {

namespace {
// Fraction of its rate that a flow puts on the reverse route (network/crosstraffic).
constexpr double kCrosstraffic = 0.05;
}  // namespace

std::int32_t HostPairs::find_or_make(std::int32_t source, std::int32_t destination) {
  const std::uint64_t hosts = PlatformData::key(source, destination);
  const std::int32_t found = pair_of_hosts_.find(hash_of(hosts), [&](std::int32_t pair) {
    return hosts_of_pair_[static_cast<std::size_t>(pair)] == hosts;
  });
  if (found >= 0) return found;
  missing_source_ = source;
  missing_destination_ = destination;
  if (!routes_.find(source, destination, forward_)) return -1;
  if (model_.crosstraffic && !routes_.find(destination, source, backward_)) {
    std::swap(missing_source_, missing_destination_);
    return -1;
  }
  const std::int32_t made = make(forward_, backward_);
  hosts_of_pair_.resize(system_.variables(), 0);
  hosts_of_pair_[static_cast<std::size_t>(made)] = hosts;
  pair_of_hosts_.insert(made, [this](std::int32_t pair) {
    return hash_of(hosts_of_pair_[static_cast<std::size_t>(pair)]);
  });
  return made;
}

std::int32_t HostPairs::make(const Route& forward, const Route& backward) {
  max_min::VariableType type;
  type.latency = forward.latency + (changing_ ? changing_->delay(forward) : 0.0);
  for (const std::int32_t link : forward.links) system_.add_element(link, 1.0);
  for (const std::int32_t link : backward.links) system_.add_element(link, kCrosstraffic);
  const FlowTerms terms = flow_model_.terms(forward.links, type.latency);
  flow_model_.apply(terms, type);
  const std::int32_t made = system_.add_variable(type);
  if (changing_) changing_->add_pair(made, terms, forward.links);
  return made;
}

std::int32_t HostPairs::without_latency(std::int32_t pair) {
  const max_min::VariableType paid = system_.type_of(system_.variable(pair));
  if (paid.latency <= 0) return pair;
  const auto [place, is_new] = unpaid_.try_emplace(pair, -1);
  if (is_new) {
    max_min::VariableType type;
    type.bound = paid.bound;
    system_.copy_elements(pair);
    place->second = system_.add_variable(type);
    if (changing_) changing_->add_unpaid_pair(place->second, pair);
  }
  return place->second;
}

void HostPairs::verify() const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < hosts_of_pair_.size(); ++i) {
    const std::uint64_t hosts = hosts_of_pair_[i];
    const std::int32_t pair = pair_of_hosts_.find(hash_of(hosts), [&](std::int32_t other) {
      return hosts_of_pair_[static_cast<std::size_t>(other)] == hosts;
    });
    found += pair == static_cast<std::int32_t>(i) ? 1 : 0;
  }
  ensure(found == pair_of_hosts_.size(), "the pair of two hosts is found by its hosts");
  for (const auto& [paid, unpaid] : unpaid_) {
    const max_min::VariableType& type = system_.type_of(system_.variable(unpaid));
    const std::size_t links = system_.elements(system_.variable(paid)).size();
    ensure(type.latency <= 0 && type.elements == links,
           "flows with and without latency have the same route");
  }
}

}  // namespace tisim
