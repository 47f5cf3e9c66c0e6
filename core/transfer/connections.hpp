// FIFO connections (network/ordering:fifo, ADR 27), one per ordered pair of ranks. Transfers over a
// connection are sequential, as over a TCP connection or a reliable queue pair.
//
// A connection transfers *packets*: messages, parts of them, and control messages of their
// handshake. The latency of a packet begins when it is queued. Its bytes move once the latency is
// paid and it is first in the queue. A packet is the owner of its flow.
//
// Invariant: at most the first packet of each connection moves.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.hpp"
#include "support/number_index.hpp"
#include "support/pool.hpp"

namespace tisim {

// Control messages of a rendezvous in order, and data packets.
enum class PacketType : std::uint8_t {
  request,          // the sender of a rendezvous asks for its receive
  answer,           // the receiver asks for the body
  acknowledgement,  // the receiver has read the body
  completion,       // the sender has read the acknowledgement
  part,             // part of a body, except the last
  last_part,
  access  // whole access of a window; its receiver has to read it
};

inline bool is_control(PacketType type) { return type <= PacketType::completion; }

// Returns true if the packet is read by the message's receiver rather than its sender.
inline bool is_read_by_receiver(PacketType type) {
  return type == PacketType::request || type == PacketType::completion ||
         type == PacketType::last_part || type == PacketType::access;
}

struct Packet {
  std::int32_t number = -1;
  std::int32_t message = -1;  // index in the matcher
  std::int32_t connection = -1;
  std::int32_t flow = -1;
  std::int32_t next = -1;  // next packet of the queue
  PacketType type = PacketType::last_part;
  bool has_paid_latency = false;
};

class Connections {
 public:
  explicit Connections(Network& network) : network_(network) {}

  // Returns the connection from one rank to another, over the links of a pair.
  std::int32_t find_or_make(std::int32_t source, std::int32_t destination, std::int32_t pair);
  // Returns the reverse connection, or -1 if it does not exist yet.
  std::int32_t reverse(std::int32_t connection) const;
  std::int32_t pair(std::int32_t connection) const { return connections_[at(connection)].pair; }

  // Appends a packet to the queue of its connection.
  std::int32_t append(std::int32_t connection, PacketType type, std::int32_t message);
  void set_flow(std::int32_t packet, std::int32_t flow) { packets_[packet].flow = flow; }
  // The packet moves now, or after those before it.
  void pay_latency(std::int32_t packet, double now);
  // Removes a packet that has moved. The caller then calls `take_control` and `move_on`.
  Packet take_moved(std::int32_t packet);
  // Removes the first packet if it is a control message whose latency is paid: it is in the same
  // TCP segment as the packet before it and is read with it. Returns false otherwise.
  bool take_control(std::int32_t connection, double now, Packet* packet);
  // Starts moving the first packet if possible. Returns it, or -1.
  std::int32_t move_on(std::int32_t connection, double now);
  // Removes a packet that has not moved. The caller has removed its flow from the network.
  void drop(std::int32_t packet, double now);

  const Packet& packet(std::int32_t packet) const { return packets_[packet]; }
  // Returns the first packet of a connection, or -1.
  std::int32_t first(std::int32_t connection) const { return connections_[at(connection)].first; }
  std::size_t in_progress() const { return packets_.in_use(); }
  // Returns a packet in flight of a message, or -1. Slow.
  std::int32_t find(std::int32_t message) const;
  // Number of packets before one in its connection.
  std::int32_t count_before(std::int32_t packet) const;

  // Throws BrokenInvariant.
  void verify() const;

 private:
  struct Connection {
    std::int32_t source = 0, destination = 0;  // ranks
    std::int32_t pair = -1;                    // host pair of the network
    std::int32_t first = -1, last = -1;        // packets
    bool is_moving = false;                    // the first packet moves
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  static std::uint64_t hash(std::int32_t source, std::int32_t destination) {
    return hash_of(static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 |
                   static_cast<std::uint32_t>(destination));
  }
  std::int32_t find(std::int32_t source, std::int32_t destination) const;
  Packet take_first(Connection& connection);
  void move_first(Connection& connection, double now);

  Network& network_;
  Pool<Packet> packets_;
  std::vector<Connection> connections_;
  NumberIndex index_;  // finds connections
};

}  // namespace tisim
