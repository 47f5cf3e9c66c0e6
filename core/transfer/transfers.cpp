#include "transfer/transfers.hpp"

#include <algorithm>

#include "support/invariant.hpp"

namespace tisim {

void Transfers::expect_failures(std::size_t hosts, std::size_t links) {
  if (failing_) return;
  failing_ = std::make_unique<Failing>();
  failing_->host_off.resize(hosts);
  failing_->link_off.resize(links);
}

std::optional<Loss> Transfers::obstacle(std::int32_t pair) const {
  const std::int32_t link = network_.find_link(pair, failing_->link_off);
  if (link < 0) return std::nullopt;
  return Loss{Loss::Cause::link, link, clock_.now()};
}

void Transfers::note_hosts(std::int32_t owner, std::int32_t source, std::int32_t destination) {
  const auto found = failing_->flights.find(owner);
  if (found == failing_->flights.end()) return;
  found->second.source = source;
  found->second.destination = destination;
}

template <class Wanted>
std::vector<std::int32_t> Transfers::owners(Wanted wanted) const {
  std::vector<std::int32_t> owners;
  for (const auto& [owner, flight] : failing_->flights) {
    if (wanted(owner, flight)) owners.push_back(owner);
  }
  std::sort(owners.begin(), owners.end());
  return owners;
}

std::vector<std::int32_t> Transfers::over_link(std::int32_t link) const {
  return owners([&](std::int32_t, const Flight& flight) {
    return network_.uses_link(network_.pair_of(flight.flow), link);
  });
}

std::vector<std::int32_t> Transfers::at_host(std::int32_t host) const {
  return owners([&](std::int32_t, const Flight& flight) {
    return flight.source == host || flight.destination == host;
  });
}

std::vector<std::int32_t> Transfers::of_messages() const {
  return owners([](std::int32_t owner, const Flight&) { return owner >= 0; });
}

void Transfers::activate_all(std::int32_t first) {
  for (std::int32_t flow = first; flow >= 0;) {
    const std::int32_t next = network_.pop_front(flow);
    activate_one(flow);
    flow = next;
  }
}

std::int32_t Transfers::queue(std::int32_t connection, PacketType type, std::int32_t message,
                              double bytes) {
  const std::int32_t packet = connections_->append(connection, type, message);
  double latency = 0.0;
  const std::int32_t flow =
      network_.create(connections_->pair(connection), bytes, packet, clock_.now(), &latency);
  connections_->set_flow(packet, flow);
  if (failing_) failing_->flights[packet].flow = flow;
  if (latency > 0) {
    clock_.agenda().push(clock_.now() + latency, EventType::latency, flow);
  } else {
    connections_->pay_latency(packet, clock_.now());
  }
  return packet;
}

void Transfers::stop(std::int32_t owner) {
  const auto found = failing_->flights.find(owner);
  const std::int32_t flow = found->second.flow;
  failing_->flights.erase(found);
  if (!connections_ || owner < 0) {
    network_.drop(flow, clock_.now());
    return;
  }
  // No event of the agenda is left to release a flow that waits only for other packets.
  const bool waits = connections_->packet(owner).has_paid_latency && !network_.is_active(flow);
  network_.drop(flow, clock_.now());
  if (waits) network_.discard(flow);
  connections_->drop(owner, clock_.now());
}

const Loss* Transfers::loss_of(std::int32_t message) const {
  if (!failing_) return nullptr;
  const auto found = failing_->lost.find(message);
  return found == failing_->lost.end() ? nullptr : &found->second;
}

void Transfers::verify() const {
  if (connections_) connections_->verify();
  if (!failing_) return;
  ensure(failing_->flights.size() <= network_.flows_in_progress(),
         "there are no more transfers in flight than flows");
  for (const auto& [owner, flight] : failing_->flights) {
    ensure(flight.flow >= 0, "a transfer in flight has a flow");
    ensure(owner < 0 || !failing_->lost.contains(message_of(owner)),
           "no lost message is in flight");
  }
}

}  // namespace tisim
