// The protocol of MPI messages: the one place where thresholds and overheads are read (Bedaride et
// al. 2013; SimGrid's smpi_request.cpp and smpi_host.cpp).
//
// *Eager*: the transfer starts at once. *Detached*: the sender goes on at once, the transfer starts
// when the receive is posted. *Rendezvous*: the sender waits for the end of the transfer, which
// starts when both sides have come.
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

// How a rendezvous over a FIFO connection goes on after its request (smpi/rendezvous), by the names
// of Open MPI (btl_tcp_flags, pml/ob1).
enum class Rendezvous : std::uint8_t {
  put,      // the sender writes the whole body when it has read the answer
  put_ack,  // the same; the receiver acknowledges the body, and a completion answers that
  get,      // the receiver fetches it, and the sender's program is not needed for that
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

  // The call returns before the message has arrived, and there is a request for it.
  static bool is_immediate(Kind kind) {
    const KindTraits& traits = traits_of(kind);
    return traits.makes_request || is_half(traits.role) || traits.role == Role::make_persistent;
  }

  // The sender goes on at once: `smpi/send-is-detached-thresh`.
  bool is_detached(const Op& op) const {
    const SendMode mode = traits_of(op.kind).mode;
    return op.bytes < model_.detached_threshold ? mode != SendMode::synchronous
                                                : mode == SendMode::buffered;
  }
  // The transfer of a detached send starts at once: `smpi/async-small-thresh`.
  bool is_eager(const Op& op) const { return op.bytes < model_.eager_threshold; }
  bool has_eager_messages() const { return model_.eager_threshold > 0; }

  // Seconds that a rank pays before it posts a send: only where it gets control back before the
  // transfer is over (smpi/os, smpi/ois).
  double send_overhead(const Rank& rank, const Op& op) const {
    // To start a persistent send costs what a blocking one does, as in SimGrid.
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
  // Seconds that a rank pays for a receive: only where the sender had gone on before (smpi/or).
  double receive_overhead(const Rank& rank, const Message& message) const {
    return message.detached ? receive_overhead(rank, message.bytes) : 0.0;
  }
  double receive_overhead(const Rank& rank, std::int64_t bytes) const {
    return overheads_of(rank).receive.at(static_cast<double>(bytes));
  }
  // Bytes that a message of so many moves.
  double with_envelope(std::int64_t bytes) const {
    return static_cast<double>(bytes) + model_.envelope;
  }

  // Messages of two ranks are in order: network/ordering.
  bool keeps_order() const { return model_.ordering == "fifo"; }
  Rendezvous rendezvous() const { return rendezvous_; }
  // Bytes that a connection takes over from its sender at once.
  double send_buffer() const { return static_cast<double>(model_.send_buffer); }
  // Bytes of the first part, and of the others, of a body that is sent in fragments.
  double first_fragment() const { return static_cast<double>(model_.detached_threshold); }
  double fragment() const { return static_cast<double>(model_.fragment_bytes); }
  // How many of the others are queued at a time.
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

// Small random differences of starts, ends of barriers and sizes, drawn with a seed
// (tisim/jitter-start, -barrier, -size).
//
// Real ranks never start or leave a barrier at one instant, and no two messages take exactly the
// same time. A simulation that is perfectly symmetric can therefore take a course that no real run
// takes.
class Jitter {
 public:
  explicit Jitter(const Model& model) : model_(model) {}

  // Seconds that the next rank starts later.
  double start() { return model_.jitter_start > 0 ? model_.jitter_start * draw() : 0.0; }
  // A rank leaves a barrier, which it notices later.
  void leave(std::int32_t rank, double now) {
    const auto at = static_cast<std::size_t>(rank);
    if (at >= late_.size()) late_.resize(at + 1);
    late_[at] = now + model_.jitter_barrier * draw();
  }
  // When a rank has noticed that its last barrier is over.
  double late(std::int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < late_.size() ? late_[at] : 0.0;
  }
  // The bytes that the next message moves, which nominally are so many.
  double size(double bytes) {
    if (model_.jitter_size <= 0) return bytes;
    return bytes * (1 + model_.jitter_size * (2 * draw() - 1));
  }

 private:
  // From 0 up to 1, the same numbers for the same seed.
  double draw() {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;  // splitmix64
    const std::uint64_t stream = hash_of(model_.jitter_seed + 1);
    return static_cast<double>(hash_of(stream + ++drawn_ * kGoldenRatio) >> 11) * 0x1p-53;
  }

  const Model& model_;
  std::uint64_t drawn_ = 0;
  std::vector<double> late_;  // shorter where the last ranks left no barrier
};

}  // namespace tisim
