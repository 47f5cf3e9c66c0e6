#include "network/network.hpp"

#include <algorithm>

namespace tisim {

namespace {

// The max-min system of a platform: one constraint per link.
max_min::System system_of(const PlatformData& platform) {
  max_min::System system;
  for (std::size_t i = 0; i < platform.link_bandwidth.size(); ++i) {
    system.add_constraint(platform.link_bandwidth[i], platform.link_fatpipe[i] != 0);
  }
  if (ChangingLinks::any(platform)) system.expect_changes();
  return system;
}

}  // namespace

Network::Network(const Model& model, const PlatformData& platform)
    : model_(model),
      system_(system_of(platform)),
      flow_model_(model, system_),
      flows_(system_),
      solver_(system_, model.precision_maxmin, flows_, model.network_tolerance),
      changing_(ChangingLinks::any(platform)
                    ? std::make_unique<ChangingLinks>(platform, flow_model_, system_, flows_)
                    : nullptr),
      bursts_(BurstLinks::any(platform) ? std::make_unique<BurstLinks>(platform) : nullptr),
      pairs_(model, platform, flow_model_, system_, changing_.get()) {}

std::int32_t Network::pair(std::int32_t source, std::int32_t destination) {
  const std::int32_t pair = pairs_.find_or_make(source, destination);
  flows_.add_pairs();
  return pair;
}

std::int32_t Network::create(std::int32_t pair, double bytes, std::int32_t owner, double now,
                             double* latency) {
  *latency = system_.type_of(system_.variable(pair)).latency * model_.latency_factor.at(bytes);
  double length = bytes / model_.bandwidth_factor.at(bytes);
  if (bursts_) {
    length -= bursts_->pass(system_, system_.elements(system_.variable(pair)), length, now);
  }
  if (*latency > 0) return flows_.create(pair, length, owner);
  const std::int32_t unpaid = pairs_.without_latency(pair);
  flows_.add_pairs();
  return flows_.create(unpaid, length, owner);
}

std::int32_t Network::start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                            double* latency) {
  const std::int32_t flow = create(pair, bytes, owner, now, latency);
  if (*latency <= 0) activate(flow, now);
  return flow;
}

std::int32_t Network::add_group(std::span<const std::pair<std::int32_t, double>> links,
                                double bound, std::int32_t pair) {
  max_min::VariableType type = system_.type_of(system_.variable(pair));
  for (const auto& [link, times] : links) system_.add_element(link, times);
  type.bound = bound;
  type.latency = 0;
  const std::int32_t made = system_.add_variable(type);
  flows_.add_pairs();
  return made;
}

void Network::set_bandwidth(std::int32_t link, double bandwidth) {
  solver_.forget_solutions();
  changing_->set_bandwidth(link, bandwidth);
}

void Network::set_latency(std::int32_t link, double latency) {
  solver_.forget_solutions();
  changing_->set_latency(link, latency);
}

void Network::drop(std::int32_t flow, double now) {
  if (!flows_.is_active(flow)) {
    flows_.lose(flow);  // it still pays its latency
    return;
  }
  flows_.set_now(now);
  solver_.separate(flows_.pair_of(flow));
  flows_.remove(flow, now);
}

bool Network::discard(std::int32_t flow) {
  if (!flows_.is_lost(flow)) return false;
  flows_.release_lost(flow);
  return true;
}

void Network::verify(double now) const {
  solver_.verify();
  flows_.verify(now);
  pairs_.verify();
  if (changing_) changing_->verify();
  if (bursts_) bursts_->verify();
}

bool Network::uses_link(std::int32_t pair, std::int32_t link) const {
  const auto elements = system_.elements(system_.variable(pair));
  return std::any_of(elements.begin(), elements.end(), [link](const max_min::Element& element) {
    return element.constraint == link;
  });
}

std::int32_t Network::find_link(std::int32_t pair, const std::vector<bool>& which) const {
  for (const max_min::Element& element : system_.elements(system_.variable(pair))) {
    if (which[static_cast<std::size_t>(element.constraint)]) return element.constraint;
  }
  return -1;
}

void Network::list_starved(std::vector<std::int32_t>& links) const {
  for (std::size_t i = 0; i < system_.constraints(); ++i) {
    const auto link = static_cast<std::int32_t>(i);
    const max_min::Constraint& constraint = system_.constraint(link);
    if (constraint.capacity <= 0 && constraint.count > 0) links.push_back(link);
  }
}

}  // namespace tisim
