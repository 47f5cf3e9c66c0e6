// The messages that operations send and receive.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "support/mixing.hpp"

namespace tisim {

// Messages of one channel match in order. Ranks are those in the group.
struct TraceChannel {
  std::uint32_t group = 0;
  std::int32_t destination = 0;
  std::int32_t source = 0;  // possibly kAnySource for a receive
  std::int32_t tag = 0;     // possibly kAnyTag for a receive

  friend auto operator<=>(const TraceChannel&, const TraceChannel&) = default;
};

struct ChannelHash {
  std::size_t operator()(const TraceChannel& channel) const {
    const auto half = [](std::uint32_t high, std::int32_t low) {
      return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(low);
    };
    // Mixed twice: otherwise related numbers, such as tags equal to ranks, would collide.
    const std::uint64_t ranks =
        mixed(half(static_cast<std::uint32_t>(channel.destination), channel.source), 0);
    return static_cast<std::size_t>(mixed(ranks, half(channel.group, channel.tag)));
  }
};

struct TraceMessage {
  TraceChannel channel;
  bool is_receive = false;
  std::int64_t bytes = 0;  // of a receive: its buffer, -1 if unspecified
  std::uint32_t line = 0;
};

}  // namespace tisim
