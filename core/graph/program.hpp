// Programs that are graphs: the work given to GPUs, in the order of their host threads.
//
// A *lane* is a GPU, or several that do the same work at the same time. Its host thread launches
// nodes into streams; a stream executes its nodes in order. Nodes of different streams depend on
// each other through events, as in CUDA: a `wait` waits for the last `record` of its event that was
// launched before it. Blocks repeat other blocks, so that layers and micro-batches need no extra
// memory.
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
  meet,         // a collective, or the transfer between a sender and a receiver
  record,       // marks an event when all earlier nodes of the stream are done
  wait,         // blocks the stream until the event is marked
  host,         // time spent by the host thread on other work
  synchronize,  // the host thread waits until the stream has finished all launched nodes
  repeat,       // a block, repeated
  delay         // time passes in the stream without using the GPU
};
inline constexpr int kNodeKinds = 8;

struct Node {
  NodeKind kind;
  std::int32_t stream = 0;  // stream number in the lane
  std::int32_t target = 0;  // the meeting, the event, or the block
  std::int32_t count = 0;   // `meet`: the call; `repeat`: number of repetitions
  double arithmetic = 0.0;  // seconds of a kernel given all SMs; of `host`, `delay`
  double memory = 0.0;      // seconds of a kernel given the full memory bandwidth
};

// A range of consecutive nodes.
struct Block {
  std::int32_t first = 0, end = 0;
};

// Used instead of a lane's block: the caller decides what the lane launches, and when.
inline constexpr std::int32_t kNoBlock = -1;

// Work of a meeting once all its members have arrived: a fixed time, after which each channel moves
// its bytes at the rate that the links allow.
struct MeetingCall {
  double seconds = 0.0;
  double bytes = 0.0;   // per channel; 0: no data moves on shared links
  double rate = 0.0;    // maximum rate of a channel, bytes/s
  double sms = 0.0;     // fraction of the SMs taken from kernels
  double memory = 0.0;  // fraction of the memory bandwidth
};

// A link used by a call, and its number of channels there.
struct LinkUse {
  std::int32_t link = 0;
  double channels = 1.0;
};

struct GraphPrograms {
  std::vector<Node> nodes;
  std::vector<Block> blocks;        // a block may only repeat earlier blocks
  std::vector<std::int32_t> lanes;  // the block that a lane's host thread launches, or kNoBlock
  std::vector<MeetingCall> calls;
  std::vector<std::int32_t> parties;     // number of lanes in each meeting
  std::vector<double> links;             // bytes/s
  std::vector<LinkUse> uses;             // concatenated, by call
  std::vector<std::int32_t> use_ends;    // end offset in `uses`, by call
  std::int32_t streams = 1, events = 0;  // per lane
  double launch = 0.0;                   // host thread seconds per kernel or meeting launch

  std::span<const LinkUse> uses_of(std::int32_t call) const {
    const auto at = static_cast<std::size_t>(call);
    const auto first = static_cast<std::size_t>(at == 0 ? 0 : use_ends[at - 1]);
    return {uses.data() + first, static_cast<std::size_t>(use_ends[at]) - first};
  }

  // Throws std::invalid_argument if the parts are inconsistent.
  void check() const;
};

// Two lanes meet with different calls; both are indices into `nodes`.
struct GraphMismatch : std::runtime_error {
  GraphMismatch(std::int32_t first, std::int32_t second)
      : std::runtime_error("nodes " + std::to_string(first) + " and " + std::to_string(second) +
                           " meet with different calls"),
        nodes{first, second} {}
  std::int32_t nodes[2];
};

}  // namespace tisim
