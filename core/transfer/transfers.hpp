// Transfers in progress, of messages and of activities; with failures enabled, also which resources
// are off and which transfers are lost (ADR 15).
//
// An *owner* is ~ the number of an activity, or the index of a message in the matcher; if messages
// are ordered (transfer/connections.hpp), the number of a packet instead. A lost transfer never
// arrives: its waiting ranks wait forever.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "clock/clock.hpp"
#include "network/network.hpp"
#include "transfer/connections.hpp"

namespace tisim {

// Why a transfer never arrives.
struct Loss {
  enum class Cause : std::uint8_t { link, host, rank };
  Cause cause = Cause::link;
  std::int32_t index = 0;  // index of the failed link, failed host or dead rank
  double date = 0.0;       // seconds
};

class Transfers {
 public:
  Transfers(Clock& clock, Network& network) : clock_(clock), network_(network) {}

  // Starts a flow over the links of a pair (`Network::pair`). Requires that no obstacle exists.
  void start(std::int32_t pair, double bytes, std::int32_t owner) {
    double latency = 0.0;
    const std::int32_t flow = network_.start(pair, bytes, owner, clock_.now(), &latency);
    if (failing_) failing_->flights[owner].flow = flow;
    if (latency > 0) pay_until(clock_.now() + latency, flow);
  }
  // Queues a packet of a message on its connection. Requires that no obstacle exists.
  std::int32_t queue(std::int32_t connection, PacketType type, std::int32_t message, double bytes);
  // Activates a flow and its followers, whose latencies are paid.
  void activate(std::int32_t first) {
    if (network_.follower(first) >= 0) [[unlikely]]
      return activate_all(first);
    activate_one(first);
  }
  void end(std::int32_t owner) {
    if (failing_) failing_->flights.erase(owner);
  }
  // Removes a control message that arrives with the packet before it in its connection.
  bool take_control(std::int32_t connection, Packet* packet) {
    if (!connections_->take_control(connection, clock_.now(), packet)) return false;
    end(packet->number);
    return true;
  }

  // Enables ordered messages. Must be called before the first one.
  void keep_order() { connections_ = std::make_unique<Connections>(network_); }
  // Null: messages are not ordered.
  Connections* connections() { return connections_.get(); }
  const Connections* connections() const { return connections_.get(); }
  // The message of an owner that is not an activity.
  std::int32_t message_of(std::int32_t owner) const {
    return connections_ ? connections_->packet(owner).message : owner;
  }

  // Enables failures of hosts, links and ranks. Without them, simulations have no overhead.
  void expect_failures(std::size_t hosts, std::size_t links);
  bool may_fail() const { return failing_ != nullptr; }

  // The functions below require `may_fail`, except for queries.
  bool is_host_off(std::int32_t host) const {
    return failing_ && failing_->host_off[static_cast<std::size_t>(host)];
  }
  void turn_host(std::int32_t host, bool on) {
    failing_->host_off[static_cast<std::size_t>(host)] = !on;
  }
  void turn_link(std::int32_t link, bool on) {
    failing_->link_off[static_cast<std::size_t>(link)] = !on;
  }
  // Returns a failed link on the route of a pair.
  std::optional<Loss> obstacle(std::int32_t pair) const;
  // Notes the hosts of an activity's transfer, if it has started; those of messages are their
  // ranks'.
  void note_hosts(std::int32_t owner, std::int32_t source, std::int32_t destination);

  // Owners of the transfers in progress over a link, to or from a host, and of all messages; in
  // increasing order.
  std::vector<std::int32_t> over_link(std::int32_t link) const;
  std::vector<std::int32_t> at_host(std::int32_t host) const;
  std::vector<std::int32_t> of_messages() const;

  // Removes a transfer from the network.
  void stop(std::int32_t owner);
  // Marks a message's transfer as lost, whether started or not.
  void note_loss(std::int32_t message, const Loss& loss) { failing_->lost[message] = loss; }
  // Why the transfer of a message will never arrive; null if it may.
  const Loss* loss_of(std::int32_t message) const;

  // Throws BrokenInvariant.
  void verify() const;

 private:
  struct Flight {
    std::int32_t flow = -1;
    std::int32_t source = -1, destination = -1;  // hosts; -1: those of a message's ranks
  };
  struct Failing {
    std::vector<bool> host_off, link_off;
    std::unordered_map<std::int32_t, Flight> flights;  // by owner
    std::unordered_map<std::int32_t, Loss> lost;       // by message
  };

  template <class Wanted>
  std::vector<std::int32_t> owners(Wanted wanted) const;

  // Consecutively scheduled flows that pay their latencies until the same date share one event,
  // that of the first. An all-to-all has a million of them at once.
  void pay_until(double date, std::int32_t flow) {
    Agenda& agenda = clock_.agenda();
    const bool has_come = date - clock_.now() < clock_.together();
    if (paid_at_ == date && dated_ == agenda.dated() && !has_come) {
      network_.follow(flow, last_payer_);
    } else {
      agenda.push(date, EventType::latency, flow);
      dated_ = agenda.dated();
      paid_at_ = date;
    }
    last_payer_ = flow;
  }
  void activate_all(std::int32_t first);
  void activate_one(std::int32_t flow) {
    if (failing_ && network_.discard(flow)) return;
    if (connections_ && network_.owner_of(flow) >= 0) {
      connections_->pay_latency(network_.owner_of(flow), clock_.now());
    } else {
      network_.activate(flow, clock_.now());
    }
  }

  Clock& clock_;
  Network& network_;
  // The last flow that began to pay its latency, until when, and the number of events scheduled by
  // then.
  std::int32_t last_payer_ = -1;
  double paid_at_ = 0.0;
  std::uint64_t dated_ = 0;
  std::unique_ptr<Failing> failing_;          // null: failures are disabled
  std::unique_ptr<Connections> connections_;  // null: messages are not ordered
};

}  // namespace tisim
