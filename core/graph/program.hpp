// Programs that are graphs: what GPUs are told to do, in the order of their host threads.
//
// A *lane* is a GPU, or several that do the same at the same time. Its host thread launches nodes
// into streams; a stream does its nodes one after the other. Nodes of different streams depend on
// each other through events, as CUDA has them: a `wait` waits for the last `record` of its event
// that was launched before it. Blocks repeat each other, so that layers and micro-batches cost no
// room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tisim {

enum class NodeKind : std::uint8_t {
  compute,      // a kernel
  meet,         // a collective, or the transfer of a sender and a receiver
  record,       // marks an event when all before it in the stream is done
  wait,         // the stream goes on when the event is marked
  host,         // the host thread does something else
  synchronize,  // the host thread waits until the stream has done all that was launched
  repeat,       // a block, several times
  delay         // time passes in the stream, which takes nothing of the GPU
};
inline constexpr int kNodeKinds = 8;

struct Node {
  NodeKind kind;
  std::int32_t stream = 0;  // of the lane
  std::int32_t target = 0;  // the meeting, the event, or the block
  std::int32_t count = 0;   // `meet`: the call; `repeat`: how often
  double arithmetic = 0.0;  // seconds of a kernel that has all SMs; of `host`, `delay`
  double memory = 0.0;      // seconds of a kernel that has all of the memory's bandwidth
};

// Consecutive nodes.
struct Block {
  std::int32_t first = 0, end = 0;
};

// In place of the block of a lane: whoever runs the graph says what it launches, and when.
inline constexpr std::int32_t kNoBlock = -1;

// Work of a meeting once all its members are there: some seconds, and then a channel moves its
// bytes at the rate that links leave it.
struct MeetingCall {
  double seconds = 0.0;
  double bytes = 0.0;   // of a channel; 0: nothing is moved that shares links
  double rate = 0.0;    // bytes/s of a channel, at most
  double sms = 0.0;     // share of the SMs that it takes from kernels
  double memory = 0.0;  // share of the memory's bandwidth
};

// A link on which a call moves bytes, and the channels that it has there.
struct LinkUse {
  std::int32_t link = 0;
  double channels = 1.0;
};

struct GraphPrograms {
  std::vector<Node> nodes;
  std::vector<Block> blocks;        // a block repeats only blocks before it
  std::vector<std::int32_t> lanes;  // the block that a lane's host thread launches, or kNoBlock
  std::vector<MeetingCall> calls;
  std::vector<std::int32_t> parties;     // lanes that come together in a meeting
  std::vector<double> links;             // bytes/s
  std::vector<LinkUse> uses;             // of each call after those of the one before
  std::vector<std::int32_t> use_ends;    // of each call
  std::int32_t streams = 1, events = 0;  // of each lane
  double launch = 0.0;                   // seconds of the host thread for a kernel or a meeting

  std::span<const LinkUse> uses_of(std::int32_t call) const {
    const auto at = static_cast<std::size_t>(call);
    const auto first = static_cast<std::size_t>(at == 0 ? 0 : use_ends[at - 1]);
    return {uses.data() + first, static_cast<std::size_t>(use_ends[at]) - first};
  }

  // Throws std::invalid_argument where the parts do not fit together.
  void check() const;
};

// Two lanes that meet have called different things; both nodes stand in `nodes`.
struct GraphMismatch : std::runtime_error {
  GraphMismatch(std::int32_t first, std::int32_t second)
      : std::runtime_error("nodes " + std::to_string(first) + " and " + std::to_string(second) +
                           " meet with different calls"),
        nodes{first, second} {}
  std::int32_t nodes[2];
};

}  // namespace tisim
