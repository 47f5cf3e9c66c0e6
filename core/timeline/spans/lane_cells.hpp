// Cells of a level of a run file, by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "timeline/spans/states_by_rank.hpp"

namespace tisim {

// The cells of lane l stand at offsets[l], ... up to offsets[l + 1], by part and key.
struct LaneCells {
  std::span<const std::int32_t> offsets;  // by lane, and one more
  std::span<const std::uint32_t> part;
  std::span<const SpanKey> key;
  std::span<const float> seconds, longest;
  std::span<const std::uint32_t> count;
};

// The same, in memory of its own.
struct LaneTable {
  std::vector<std::int32_t> offsets;
  std::vector<std::uint32_t> part;
  std::vector<SpanKey> key;
  std::vector<float> seconds, longest;
  std::vector<std::uint32_t> count;

  // Parts that are twice as long.
  LaneTable halved() const;

  struct Row {
    std::uint32_t part;
    SpanKey key;
    float seconds, longest;
    std::uint32_t count;
  };
  void append(const Row& row);
  Row row(std::size_t at) const { return {part[at], key[at], seconds[at], longest[at], count[at]}; }
};

}  // namespace tisim
