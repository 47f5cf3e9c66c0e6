// FIFO connections (network/ordering:fifo, ADR 27): each ordered pair of ranks has one. What goes
// over it goes one after the other, as over a TCP connection or a reliable queue pair.
//
// A connection moves *packets*: messages, parts of them, and control messages of their handshake.
// The latency of a packet begins when it is queued. Its bytes move when the latency is paid and no
// packet is before it. A packet is the owner of its flow.
//
// The class promises: of each connection at most the first packet moves.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.hpp"
#include "support/number_index.hpp"
#include "support/pool.hpp"

namespace tisim {

// Control messages of a rendezvous in their order, and what they are about.
enum class PacketType : std::uint8_t {
  request,          // the sender of a rendezvous asks for its receive
  answer,           // the receiver asks for the body
  acknowledgement,  // the receiver has read the body
  completion,       // the sender has read the acknowledgement
  part,             // of a body, not the last one
  last_part,
  access  // of a window, as a whole, which its receiver has to read
};

inline bool is_control(PacketType type) { return type <= PacketType::completion; }

// What its receiver has to read, and not its sender.
inline bool is_read_by_receiver(PacketType type) {
  return type == PacketType::request || type == PacketType::completion ||
         type == PacketType::last_part || type == PacketType::access;
}

struct Packet {
  std::int32_t number = -1;
  std::int32_t message = -1;  // index in the matcher
  std::int32_t connection = -1;
  std::int32_t flow = -1;
  std::int32_t next = -1;  // in the queue of its connection
  PacketType type = PacketType::last_part;
  bool has_paid_latency = false;
};

class Connections {
 public:
  explicit Connections(Network& network) : network_(network) {}

  // The connection from one rank to another, over the links of a pair.
  std::int32_t find_or_make(std::int32_t source, std::int32_t destination, std::int32_t pair);
  // The connection back, -1: there is none yet.
  std::int32_t reverse(std::int32_t connection) const;
  std::int32_t pair(std::int32_t connection) const { return connections_[at(connection)].pair; }

  // Puts a packet behind those of its connection.
  std::int32_t append(std::int32_t connection, PacketType type, std::int32_t message);
  void set_flow(std::int32_t packet, std::int32_t flow) { packets_[packet].flow = flow; }
  // The packet moves now, or when those before it are gone.
  void pay_latency(std::int32_t packet, double now);
  // Takes out a packet that has moved. The caller then calls `take_control` and `move_on`.
  Packet take_moved(std::int32_t packet);
  // Takes out the first packet if it is a control message that could move: it is in the same
  // segment of TCP as the one before it, and is read with it. False: it is not.
  bool take_control(std::int32_t connection, double now, Packet* packet);
  // The first packet moves if it can. It, -1: there is none.
  std::int32_t move_on(std::int32_t connection, double now);
  // Takes out a packet that has not. The caller has taken its flow out of the network.
  void drop(std::int32_t packet, double now);

  const Packet& packet(std::int32_t packet) const { return packets_[packet]; }
  // The first packet of a connection, -1: none.
  std::int32_t first(std::int32_t connection) const { return connections_[at(connection)].first; }
  std::size_t in_progress() const { return packets_.in_use(); }
  // The packet of a message that is under way, -1: none. It takes long.
  std::int32_t find(std::int32_t message) const;
  // How many packets are before one in its connection.
  std::int32_t count_before(std::int32_t packet) const;

  // Throws BrokenInvariant.
  void verify() const;

 private:
  struct Connection {
    std::int32_t source = 0, destination = 0;  // ranks
    std::int32_t pair = -1;                    // of the network
    std::int32_t first = -1, last = -1;        // packets
    bool is_moving = false;                    // the first packet
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
  NumberIndex index_;  // of them
};

}  // namespace tisim
