// The messages that operations send and receive.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "support/mixing.hpp"

namespace tisim {

// Messages of one channel match in order. The ranks are those of the group.
struct TraceChannel {
  std::uint32_t group = 0;
  std::int32_t destination = 0;
  std::int32_t source = 0;  // of a receive perhaps kAnySource
  std::int32_t tag = 0;     // of a receive perhaps kAnyTag

  friend auto operator<=>(const TraceChannel&, const TraceChannel&) = default;
};

struct ChannelHash {
  std::size_t operator()(const TraceChannel& channel) const {
    const auto half = [](std::uint32_t high, std::int32_t low) {
      return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(low);
    };
    // Mixed twice: numbers that only cancel each other out, such as tags that are ranks, would
    // meet.
    const std::uint64_t ranks =
        mixed(half(static_cast<std::uint32_t>(channel.destination), channel.source), 0);
    return static_cast<std::size_t>(mixed(ranks, half(channel.group, channel.tag)));
  }
};

struct TraceMessage {
  TraceChannel channel;
  bool is_receive = false;
  std::int64_t bytes = 0;  // of a receive: its buffer, -1 for one that takes what comes
  std::uint32_t line = 0;
};

}  // namespace tisim
