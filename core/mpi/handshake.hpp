// Transfers of messages: delivery to both sides, and the handshake of messages in order.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mpi/matcher.hpp"
#include "mpi/protocol.hpp"
#include "mpi/request_table.hpp"
#include "mpi/runtime.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

// Effects of a message's transfer on its two sides: who goes on when it is over, and whether it can
// begin at all.
class Deliveries {
 public:
  Deliveries(const Runtime& runtime, Transfers& transfers, Matcher& matcher, RequestTable& requests)
      : runtime_(runtime), transfers_(transfers), matcher_(matcher), requests_(requests) {}

  // True if something that is off, or a dead rank, is on a message's way over a pair. The message
  // is noted as lost then.
  bool is_lost(std::int32_t message, std::int32_t pair) {
    return transfers_.may_fail() && lose_if_obstructed(message, pair);
  }
  // The sender needs its message no more, before that has arrived.
  void finish_send(std::int32_t message);
  // Nobody waits for this side of a message, which is complete.
  void end_unattended(std::int32_t message, Side side) {
    if (side == kReceiver && runtime_.log.is_open()) runtime_.log.complete_unattended(message);
    release(message);
  }
  // One side of a message needs it no more.
  void release(std::int32_t message) {
    if (--matcher_.message(message).holders > 0) return;
    if (runtime_.log.is_open()) runtime_.log.release(message);
    matcher_.messages().release(message);
  }
  // The transfer of a message is over: those who wait for it go on, whoever came first first.
  void arrive(std::int32_t message);

 private:
  bool lose_if_obstructed(std::int32_t message, std::int32_t pair);
  void notify(std::int32_t message, Side side);

  Runtime runtime_;
  Transfers& transfers_;
  Matcher& matcher_;
  RequestTable& requests_;
};

// Messages over FIFO connections (network/ordering:fifo, ADR 27): what is queued when.
//
// A message that its sender need not wait for is queued when it is sent. A rendezvous begins with a
// *request*, queued when the message is sent. The receiver queues an *answer* when it has read the
// request and its receive is posted; the sender queues the body when it has read the answer. A rank
// reads what has arrived when it enters a call that waits, tests or probes, and while it is in one:
// MPI libraries without a thread of their own make progress only there.
//
// Where bodies are acknowledged (smpi/rendezvous:put-ack), the receiver queues an
// *acknowledgement* when it has read the body. The sender goes on when it has read that, and queues
// a *completion*; the receiver goes on when it has read this one.
//
// So an answer waits for a body that its rank has queued before, which makes the order matter in
// which a program posts its sends and receives.

// Where a message of a rendezvous is, for reports.
struct Standing {
  enum class Where : std::uint8_t { elsewhere, queued, unread };
  Where where = Where::elsewhere;
  PacketType type = PacketType::last_part;  // what is queued or not read
  std::int32_t before = 0;                  // packets that are queued before it
};

class Handshake {
 public:
  Handshake(const Runtime& runtime, Transfers& transfers, Matcher& matcher, Deliveries& deliveries,
            const Protocol& protocol, Jitter& jitter);

  // A send was posted, whether its receive is there or not.
  void send(std::int32_t message);
  // An access of a window. `is_read`: it is there when its receiver has read it; otherwise neither
  // side has to read anything.
  void access(std::int32_t message, double bytes, bool is_read);
  // A receive was posted that takes a message which was sent before.
  void receive(std::int32_t message);
  // A send whose receive was not posted is withdrawn. True: its request is under way, and whoever
  // reads that releases the message.
  bool withdraw(std::int32_t message);
  // A packet has been moved.
  void end(std::int32_t packet);
  // A rank enters a call that waits, tests or probes.
  void read(std::int32_t rank);

  // The fate of a message. It takes long.
  Standing standing(std::int32_t message) const;

  // Packets that wait to be read belong to messages under way. Throws BrokenInvariant.
  void verify() const;

 private:
  struct Unread {
    std::int32_t message;
    PacketType type;
  };

  void arrive(const Packet& packet);
  void take(const Unread& unread);
  void answer(std::int32_t message);
  void send_body(std::int32_t message);
  void send_fragment(std::int32_t message);
  void queue(std::int32_t connection, PacketType type, std::int32_t message, double bytes);
  void come_first(const Packet& packet);
  std::int32_t reader(const Unread& unread) const;

  Runtime runtime_;
  Transfers& transfers_;
  Matcher& matcher_;
  Deliveries& deliveries_;
  const Protocol& protocol_;
  Jitter& jitter_;
  std::vector<std::vector<Unread>> unread_;  // of each rank; shorter where the last have none
  std::unordered_map<std::int32_t, double> unsent_;  // bytes of bodies that are not queued yet
};

}  // namespace tisim
