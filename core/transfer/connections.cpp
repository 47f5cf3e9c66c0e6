#include "transfer/connections.hpp"

#include "support/invariant.hpp"

namespace tisim {

std::int32_t Connections::find(std::int32_t source, std::int32_t destination) const {
  return index_.find(hash(source, destination), [&](std::int32_t number) {
    const Connection& connection = connections_[at(number)];
    return connection.source == source && connection.destination == destination;
  });
}

std::int32_t Connections::find_or_make(std::int32_t source, std::int32_t destination,
                                       std::int32_t pair) {
  const std::int32_t found = find(source, destination);
  if (found >= 0) return found;
  const auto number = static_cast<std::int32_t>(connections_.size());
  connections_.push_back({.source = source, .destination = destination, .pair = pair});
  index_.insert(number, [this](std::int32_t other) {
    const Connection& connection = connections_[at(other)];
    return hash(connection.source, connection.destination);
  });
  return number;
}

std::int32_t Connections::reverse(std::int32_t connection) const {
  const Connection& there = connections_[at(connection)];
  return find(there.destination, there.source);
}

std::int32_t Connections::append(std::int32_t connection, PacketType type, std::int32_t message) {
  const std::int32_t number = packets_.acquire();
  Packet& packet = packets_[number];
  packet.number = number;
  packet.message = message;
  packet.connection = connection;
  packet.type = type;
  Connection& queue = connections_[at(connection)];
  (queue.first < 0 ? queue.first : packets_[queue.last].next) = number;
  queue.last = number;
  return number;
}

void Connections::move_first(Connection& connection, double now) {
  if (connection.first < 0) return;
  const Packet& packet = packets_[connection.first];
  if (!packet.has_paid_latency) return;
  connection.is_moving = true;
  network_.activate(packet.flow, now);
}

void Connections::pay_latency(std::int32_t number, double now) {
  Packet& packet = packets_[number];
  packet.has_paid_latency = true;
  Connection& connection = connections_[at(packet.connection)];
  if (connection.first == number) move_first(connection, now);
}

Packet Connections::take_first(Connection& connection) {
  const std::int32_t number = connection.first;
  const Packet packet = packets_[number];
  connection.first = packet.next;
  if (packet.next < 0) connection.last = -1;
  packets_.release(number);
  return packet;
}

Packet Connections::take_moved(std::int32_t number) {
  Connection& connection = connections_[at(packets_[number].connection)];
  connection.is_moving = false;
  return take_first(connection);
}

bool Connections::take_control(std::int32_t index, double now, Packet* packet) {
  Connection& connection = connections_[at(index)];
  if (connection.first < 0) return false;
  const Packet& next = packets_[connection.first];
  if (!is_control(next.type) || !next.has_paid_latency) return false;
  network_.drop(next.flow, now);  // it has not moved yet
  network_.discard(next.flow);
  *packet = take_first(connection);
  return true;
}

std::int32_t Connections::move_on(std::int32_t index, double now) {
  Connection& connection = connections_[at(index)];
  move_first(connection, now);
  return connection.first;
}

void Connections::drop(std::int32_t number, double now) {
  const Packet& packet = packets_[number];
  Connection& connection = connections_[at(packet.connection)];
  if (connection.first == number) {
    connection.is_moving = false;
    take_first(connection);
    move_first(connection, now);
    return;
  }
  std::int32_t before = connection.first;
  while (packets_[before].next != number) before = packets_[before].next;
  packets_[before].next = packet.next;
  if (connection.last == number) connection.last = before;
  packets_.release(number);
}

std::int32_t Connections::find(std::int32_t message) const {
  for (const Connection& connection : connections_) {
    for (std::int32_t at = connection.first; at >= 0; at = packets_[at].next) {
      if (packets_[at].message == message) return at;
    }
  }
  return -1;
}

std::int32_t Connections::count_before(std::int32_t packet) const {
  std::int32_t count = 0;
  const std::int32_t first = this->first(packets_[packet].connection);
  for (std::int32_t at = first; at != packet; at = packets_[at].next) ++count;
  return count;
}

void Connections::verify() const {
  ensure(packets_.is_consistent(), "a packet is released once");
  std::size_t queued = 0;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const Connection& connection = connections_[i];
    std::int32_t last = -1;
    for (std::int32_t at = connection.first; at >= 0; last = at, at = packets_[at].next) {
      const Packet& packet = packets_[at];
      ensure(packet.connection == static_cast<std::int32_t>(i),
             "packets are queued in their connection");
      ensure(packet.flow >= 0 && network_.owner_of(packet.flow) == at, "a packet has its flow");
      const bool moves = at == connection.first && connection.is_moving;
      ensure(network_.is_active(packet.flow) == moves, "only the first packet moves");
      ensure(!moves || packet.has_paid_latency, "a packet moves after its latency");
      ensure(moves || at != connection.first || !packet.has_paid_latency,
             "the first packet moves once its latency is paid");
      ++queued;
    }
    ensure(last == connection.last, "the list of a connection ends with its last packet");
    ensure(connection.first >= 0 || !connection.is_moving, "a moving connection has a packet");
  }
  ensure(queued == packets_.in_use(), "every packet is in a connection");
}

}  // namespace tisim
