// Sends and receives, from posting to the arrival of the message.
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

// Ranks whose probe takes no time and so waits until any message is sent to them.
class WaitingProbes {
 public:
  explicit WaitingProbes(const Runtime& runtime) : runtime_(runtime) {}

  void add(Rank& rank) {
    rank.phase = Phase::waiting_for_any_send;
    rank.woken_to_probe = false;
    ++count_;
  }
  // A message without a posted receive was sent to a rank, whose probe then looks again: once, even
  // if several messages are sent before it does.
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

// Sends and receives, from posting to the arrival of the message.
//
// A receive that is posted before its send (a *late sender*) waits in the matcher: `post_send`
// finds it there and starts the transfer. A send that is posted first (a *late receiver*) waits
// there too, and `receive` finds it; the protocol decides whether the sender continues meanwhile.
//
// Functions that execute an operation return whether it is done; if not, the phase of the rank
// gives the next step.
class PointToPoint {
 public:
  PointToPoint(const Runtime& runtime, Network& network, Transfers& transfers, Matcher& matcher,
               RequestTable& requests, const Addresses& addresses, const Protocol& protocol,
               WaitingProbes& waiting_probes, Jitter& jitter);
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  // Any kind of send. A non-blocking one makes a request.
  bool send(Rank& rank, std::int32_t index);
  // Completes `send` after its overhead, or once its route is known.
  bool post_send(Rank& rank, std::int32_t index);
  // A receive of known size.
  bool receive(Rank& rank, std::int32_t index);

  // A message to or from a window, posted by one rank for both sides: it is sent at once, and its
  // sender continues. Returns -1 if a route is missing. `has_envelope`: it is an MPI message.
  // `is_read`: over a FIFO connection, it completes when its receiver has read it.
  std::int32_t access(std::int32_t poster, std::int32_t source, std::int32_t destination,
                      std::int64_t bytes, std::int32_t tag, std::int32_t context, bool has_envelope,
                      bool is_read);
  // Receive overhead in seconds; a rank that waits for the message then does not pay it again.
  double take_overhead(const Rank& rank, std::int32_t message) {
    const double seconds = protocol_.receive_overhead(rank, matcher_.message(message));
    matcher_.message(message).detached = false;
    return seconds;
  }
  // Overhead of posting the access, seconds.
  double access_overhead(const Rank& rank, std::int64_t bytes) const {
    return protocol_.access_overhead(rank, bytes);
  }

  // Blocks the rank on its side of a message, unless it has arrived.
  bool block(Rank& rank, std::int32_t index, std::int32_t message, Side side);
  // Resumes the rank after the message it waited for.
  bool finish_wait(Rank& rank, std::int32_t index) {
    if (rank.waiting_side == kReceiver) return finish_receive(rank, index, rank.waiting);
    release(rank.waiting);
    return true;
  }
  // A message has arrived at its receiver, which pays the overhead.
  bool finish_receive(Rank& rank, std::int32_t index, std::int32_t message);
  // Returns the seconds of that overhead for a caller that waits itself.
  double take_received(const Rank& rank, std::int32_t message);
  // Releases one side's reference to a message.
  void release(std::int32_t message) { deliveries_.release(message); }
  // Completes a request that no rank waits for.
  void end_unattended(const Request& request) {
    deliveries_.end_unattended(request.message, request.side);
  }
  // Withdraws the unmatched message of a pending request.
  void withdraw(std::int32_t message);

  // The host pair or connection between two ranks; -1 if a route is missing.
  std::int32_t find_pair(const Rank& rank, std::int32_t index, std::int32_t destination);
  // The transfer of `owner`, a message or a packet, has ended.
  void end_transfer(std::int32_t owner) {
    handshake_ ? handshake_->end(owner) : deliveries_.arrive(owner);
  }
  // The rank enters a call that waits, tests or probes, and so makes progress.
  void make_progress(std::int32_t index) {
    if (handshake_) handshake_->read(index);
    requests_.begin_rounds(runtime_.ranks[index]);
  }
  // Null: messages are not ordered.
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
  std::unique_ptr<Handshake> handshake_;  // null: messages are not ordered
};

}  // namespace tisim
