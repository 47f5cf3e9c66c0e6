// Sends and receives from the moment they are posted until their message has arrived.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/communicators.hpp"
#include "mpi/handshake.hpp"
#include "mpi/matcher.hpp"
#include "mpi/protocol.hpp"
#include "mpi/request_table.hpp"
#include "mpi/runtime.hpp"
#include "network/network.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

// Ranks whose probe waits for any message to be sent to them, because probing takes no time.
class WaitingProbes {
 public:
  explicit WaitingProbes(const Runtime& runtime) : runtime_(runtime) {}

  void add(Rank& rank) {
    rank.phase = Phase::waiting_for_any_send;
    rank.woken_to_probe = false;
    ++count_;
  }
  // A message that no receive waits for was sent to a rank, which probes again: once, also where
  // several are sent before it does.
  void message_sent(std::int32_t destination) {
    if (count_ == 0) return;
    Rank& rank = runtime_.ranks[destination];
    if (rank.phase != Phase::waiting_for_any_send || rank.woken_to_probe) return;
    rank.woken_to_probe = true;
    --count_;
    runtime_.clock.wake(destination);
  }

 private:
  Runtime runtime_;
  std::int32_t count_ = 0;
};

// Sends and receives from the moment they are posted until their message has arrived.
//
// A receive that is posted before its send (a *late sender*) waits in the matcher: `post_send`
// finds it there and starts the transfer. A send that is posted first (a *late receiver*) waits
// there likewise, and `receive` finds it; what the sender does meanwhile says the protocol.
//
// The functions that execute an operation say whether it is done; otherwise the phase of the rank
// says what comes next.
class PointToPoint {
 public:
  PointToPoint(const Runtime& runtime, Network& network, Transfers& transfers, Matcher& matcher,
               RequestTable& requests, const Addresses& addresses, const Protocol& protocol,
               WaitingProbes& waiting_probes, Jitter& jitter);
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  // Any kind of send. One that does not block makes a request.
  bool send(Rank& rank, std::int32_t index);
  // The rest of it, when its overhead is paid or its route is there.
  bool post_send(Rank& rank, std::int32_t index);
  // A receive whose size is known.
  bool receive(Rank& rank, std::int32_t index);

  // A message to or from a window, which a rank posts at both of its ends: it is on its way at
  // once, and its sender goes on. -1: a route is not known yet. `has_envelope`: it is a message of
  // MPI. `is_read`: it is there when its receiver has read it, over a FIFO connection.
  std::int32_t access(std::int32_t poster, std::int32_t source, std::int32_t destination,
                      std::int64_t bytes, std::int32_t tag, std::int32_t context, bool has_envelope,
                      bool is_read);
  // The overhead of receiving it, in seconds, which whoever waits for it then need not pay.
  double take_overhead(const Rank& rank, std::int32_t message) {
    const double seconds = protocol_.receive_overhead(rank, matcher_.message(message));
    matcher_.message(message).detached = false;
    return seconds;
  }
  // The cost of posting it for the rank, in seconds.
  double access_overhead(const Rank& rank, std::int64_t bytes) const {
    return protocol_.access_overhead(rank, bytes);
  }

  // The rank waits for a message on its side, if it has not arrived.
  bool block(Rank& rank, std::int32_t index, std::int32_t message, Side side);
  // The rank goes on after a message that it has waited for.
  bool finish_wait(Rank& rank, std::int32_t index) {
    if (rank.waiting_side == kReceiver) return finish_receive(rank, index, rank.waiting);
    release(rank.waiting);
    return true;
  }
  // A message has arrived that the rank receives; it pays the overhead.
  bool finish_receive(Rank& rank, std::int32_t index, std::int32_t message);
  // The seconds of that overhead, where the caller lets them pass.
  double take_received(const Rank& rank, std::int32_t message);
  // One side of a message needs it no more.
  void release(std::int32_t message) { deliveries_.release(message); }
  // Nobody waits for the message of a request, which is complete.
  void end_unattended(const Request& request) {
    deliveries_.end_unattended(request.message, request.side);
  }
  // A message of a pending request that is not matched never will be.
  void withdraw(std::int32_t message);

  // The pair of the network between two ranks, or their connection; -1: a route is not known yet.
  std::int32_t find_way(const Rank& rank, std::int32_t index, std::int32_t destination);
  // The owner of a transfer, a message or a packet, has arrived.
  void end_transfer(std::int32_t owner) {
    handshake_ ? handshake_->end(owner) : deliveries_.arrive(owner);
  }
  // The rank enters a call that makes progress: it waits, tests or probes.
  void make_progress(std::int32_t index) {
    if (handshake_) handshake_->read(index);
    requests_.begin_rounds(runtime_.ranks[index]);
  }
  // Null: messages are not in order.
  const Handshake* handshake() const { return handshake_.get(); }

 private:
  void start_transfer(std::int32_t message) {
    start_transfer(message, protocol_.with_envelope(matcher_.message(message).bytes));
  }
  void start_transfer(std::int32_t message, double bytes);
  void log_send(std::int32_t message) const;

  Runtime runtime_;
  Network& network_;
  Transfers& transfers_;
  Matcher& matcher_;
  RequestTable& requests_;
  const Addresses& addresses_;
  const Protocol& protocol_;
  WaitingProbes& waiting_probes_;
  Jitter& jitter_;
  Deliveries deliveries_;
  std::unique_ptr<Handshake> handshake_;  // null: messages are not in order
};

}  // namespace tisim
