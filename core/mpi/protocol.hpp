// The protocol of MPI messages: the only place where thresholds and overheads are read (Bedaride et
// al. 2013; SimGrid's smpi_request.cpp and smpi_host.cpp).
//
// *Eager*: the transfer starts at once. *Detached*: the sender continues at once, the transfer
// starts when the receive is posted. *Rendezvous*: the sender waits for the end of the transfer,
// which starts when both sides are posted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mpi/matcher.hpp"
#include "mpi/rank.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"
#include "support/number_index.hpp"

namespace tisim {

// How a rendezvous over a FIFO connection continues after its request (smpi/rendezvous), with the
// names used by Open MPI (btl_tcp_flags, pml/ob1).
enum class Rendezvous : std::uint8_t {
  put,      // the sender writes the whole body when it has read the answer
  put_ack,  // as put; the receiver acknowledges the body, the sender replies with a completion
  get,      // the receiver fetches the body without involving the sender's program
  send      // the request carries the first part, the rest follows in fragments
};

// Bytes of the control messages of a rendezvous (Open MPI 4.1, pml_ob1_hdr.h: the headers of a
// rendezvous and of a put of one segment; UCX 1.13, tcp.h and rndv.h: those of PUT_ACK and ATP).
inline constexpr double kRequestBytes = 40.0;
inline constexpr double kAnswerBytes = 64.0;
inline constexpr double kAcknowledgementBytes = 9.0;
inline constexpr double kCompletionBytes = 22.0;

class Protocol {
 public:
  Protocol(const Model& model, const PlatformData& platform)
      : model_(model), platform_(platform), rendezvous_(read_rendezvous(model.rendezvous)) {}

  // Returns true if the call returns before the message has arrived and makes a request.
  static bool is_immediate(Kind kind) {
    const KindTraits& traits = traits_of(kind);
    return traits.makes_request || is_half(traits.role) || traits.role == Role::make_persistent;
  }

  // Returns true if the sender continues at once: `smpi/send-is-detached-thresh`.
  bool is_detached(const Op& op) const {
    const SendMode mode = traits_of(op.kind).mode;
    return op.bytes < model_.detached_threshold ? mode != SendMode::synchronous
                                                : mode == SendMode::buffered;
  }
  // Returns true if the transfer of a detached send starts at once: `smpi/async-small-thresh`.
  bool is_eager(const Op& op) const { return op.bytes < model_.eager_threshold; }
  bool has_eager_messages() const { return model_.eager_threshold > 0; }

  // Seconds that a rank pays before posting a send: only if the call returns before the transfer
  // ends (smpi/os, smpi/ois).
  double send_overhead(const Rank& rank, const Op& op) const {
    // Starting a persistent send costs as much as a blocking one, as in SimGrid.
    const KindTraits& traits = traits_of(op.kind);
    const bool as_isend = traits.makes_request || is_half(traits.role);
    if (!as_isend && traits.mode != SendMode::synchronous && !is_detached(op)) return 0.0;
    const Overheads& overheads = overheads_of(rank);
    return (as_isend ? overheads.isend : overheads.send).at(static_cast<double>(op.bytes));
  }
  // Overhead of a window access, which costs as much as an isend.
  double access_overhead(const Rank& rank, std::int64_t bytes) const {
    return overheads_of(rank).isend.at(static_cast<double>(bytes));
  }
  // Seconds that a rank pays for a receive: only if the sender did not wait (smpi/or).
  double receive_overhead(const Rank& rank, const Message& message) const {
    return message.detached ? receive_overhead(rank, message.bytes) : 0.0;
  }
  double receive_overhead(const Rank& rank, std::int64_t bytes) const {
    return overheads_of(rank).receive.at(static_cast<double>(bytes));
  }
  // Bytes transferred for a message, including its envelope.
  double with_envelope(std::int64_t bytes) const {
    return static_cast<double>(bytes) + model_.envelope;
  }

  // Whether messages between two ranks are ordered: network/ordering.
  bool keeps_order() const { return model_.ordering == "fifo"; }
  Rendezvous rendezvous() const { return rendezvous_; }
  // Bytes that a connection buffers for its sender.
  double send_buffer() const { return static_cast<double>(model_.send_buffer); }
  // Bytes of the first and of each further fragment of a body.
  double first_fragment() const { return static_cast<double>(model_.detached_threshold); }
  double fragment() const { return static_cast<double>(model_.fragment_bytes); }
  // Maximum number of further fragments queued at once.
  std::int64_t fragments_queued() const { return model_.fragments_queued; }

 private:
  static Rendezvous read_rendezvous(const std::string& name) {
    return name == "get"       ? Rendezvous::get
           : name == "send"    ? Rendezvous::send
           : name == "put-ack" ? Rendezvous::put_ack
                               : Rendezvous::put;
  }
  static bool is_half(Role role) { return role == Role::exchange || role == Role::receive_half; }
  const Overheads& overheads_of(const Rank& rank) const {
    if (platform_.host_overheads.empty()) return model_.overheads.front();
    const std::int32_t table = platform_.host_overheads[static_cast<std::size_t>(rank.host)];
    return model_.overheads[static_cast<std::size_t>(table)];
  }

  const Model& model_;
  const PlatformData& platform_;
  Rendezvous rendezvous_;
};

// Small random variations of start times, barrier exits and message sizes, drawn from a seed
// (tisim/jitter-start, -barrier, -size).
//
// Real ranks never start, or leave a barrier, at exactly the same time, and no two messages take
// exactly the same time. A perfectly symmetric simulation can therefore behave unlike any real run.
class Jitter {
 public:
  explicit Jitter(const Model& model) : model_(model) {}

  // Delay of the next rank's start, seconds.
  double start() { return model_.jitter_start > 0 ? model_.jitter_start * draw() : 0.0; }
  // A rank leaves a barrier, with a random delay.
  void leave(std::int32_t rank, double now) {
    const auto at = static_cast<std::size_t>(rank);
    if (at >= late_.size()) late_.resize(at + 1);
    late_[at] = now + model_.jitter_barrier * draw();
  }
  // The date at which a rank has left its last barrier.
  double late(std::int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < late_.size() ? late_[at] : 0.0;
  }
  // Varies the nominal size of the next message.
  double size(double bytes) {
    if (model_.jitter_size <= 0) return bytes;
    return bytes * (1 + model_.jitter_size * (2 * draw() - 1));
  }

 private:
  // Uniform in [0, 1), deterministic in the seed.
  double draw() {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;  // splitmix64
    const std::uint64_t stream = hash_of(model_.jitter_seed + 1);
    return static_cast<double>(hash_of(stream + ++drawn_ * kGoldenRatio) >> 11) * 0x1p-53;
  }

  const Model& model_;
  std::uint64_t drawn_ = 0;
  std::vector<double> late_;  // shorter if the last ranks left no barrier
};

}  // namespace tisim
