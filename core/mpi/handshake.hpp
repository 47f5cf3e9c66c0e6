// Transfers of messages: completion on both sides, and the handshake of ordered messages.
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

// Effects of a message's transfer on its two sides: who continues when it ends, and whether it can
// begin at all.
class Deliveries {
 public:
  Deliveries(const Runtime& runtime, Transfers& transfers, Matcher& matcher, RequestTable& requests)
      : runtime_(runtime), transfers_(transfers), matcher_(matcher), requests_(requests) {}

  // Returns true if a failed resource or a dead rank is on the message's route, and then marks the
  // message as lost.
  bool is_lost(std::int32_t message, std::int32_t pair) {
    return transfers_.may_fail() && lose_if_obstructed(message, pair);
  }
  // The sender is done with its message before it has arrived.
  void finish_send(std::int32_t message);
  // Completes one side of a message that no rank waits for.
  void end_unattended(std::int32_t message, Side side) {
    if (side == kReceiver && runtime_.log.is_open()) runtime_.log.complete_unattended(message);
    release(message);
  }
  // Releases one side's reference to a message.
  void release(std::int32_t message) {
    if (--matcher_.message(message).holders > 0) return;
    if (runtime_.log.is_open()) runtime_.log.release(message);
    matcher_.messages().release(message);
  }
  // The transfer is over: wakes the ranks that wait for it, in the order in which they began to
  // wait.
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
// An eager or detached message is queued when it is sent. A rendezvous begins with a *request*,
// queued when the message is sent. The receiver queues an *answer* when it has read the request and
// its receive is posted; the sender queues the body when it has read the answer. A rank reads
// arrived packets when it enters a call that waits, tests or probes, and while it is in one: MPI
// libraries without a progress thread make progress only there.
//
// Where bodies are acknowledged (smpi/rendezvous:put-ack), the receiver queues an *acknowledgement*
// when it has read the body. On reading it, the sender continues and queues a *completion*; on
// reading that, the receiver continues.
//
// So an answer waits behind a body queued earlier by its rank, and the order in which a program
// posts its sends and receives matters.

// The state of a rendezvous message, for reports.
struct TransferStatus {
  enum class Where : std::uint8_t { elsewhere, queued, unread };
  Where where = Where::elsewhere;
  PacketType type = PacketType::last_part;  // the packet queued or unread
  std::int32_t before = 0;                  // packets queued before it
};

class Handshake {
 public:
  Handshake(const Runtime& runtime, Transfers& transfers, Matcher& matcher, Deliveries& deliveries,
            const Protocol& protocol, Jitter& jitter);

  // A send was posted; its receive may or may not be posted.
  void send(std::int32_t message);
  // An access of a window. `is_read`: it completes when its receiver has read it; otherwise neither
  // side reads anything.
  void access(std::int32_t message, double bytes, bool is_read);
  // A receive was posted that matches a message sent before.
  void receive(std::int32_t message);
  // Withdraws a send whose receive was not posted. Returns true if its request is in flight; the
  // rank that reads it then releases the message.
  bool withdraw(std::int32_t message);
  // A packet has arrived.
  void end(std::int32_t packet);
  // A rank enters a call that waits, tests or probes: it reads its packets.
  void read(std::int32_t rank);

  // The state of a message. Slow: for reports only.
  TransferStatus status_of(std::int32_t message) const;

  // Checks that unread packets belong to messages in flight. Throws BrokenInvariant.
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
  std::vector<std::vector<Unread>> unread_;  // by rank; trailing ranks without any are omitted
  std::unordered_map<std::int32_t, double> unsent_;  // bytes of bodies not queued yet, by message
};

}  // namespace tisim
