// The states of a stretch of a run by rank, as pictures read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

// What a rank is in from time to time: state * 256 + kind of action.
using SpanKey = std::uint16_t;
inline constexpr std::size_t kSpanKeys = 1 << 16;
// In no state: before the first one of a rank, or between two.
inline constexpr SpanKey kNoState = 0xffff;

// The states of rank r end at ends[offsets[r]], ... up to offsets[r + 1]. The first begins at
// begins[r], each other one where the one before ends.
struct StateSpans {
  std::span<const double> begins;         // seconds, by rank
  std::span<const std::int32_t> offsets;  // by rank, and one more
  std::span<const double> ends;           // seconds
  std::span<const SpanKey> keys;
};

// Collects rows of states, which come in the order of their ends.
class StatesByRank {
 public:
  explicit StatesByRank(std::size_t ranks) : until_(ranks, 0.0) {}

  // Throws std::out_of_range when it is of no known rank.
  void add(const StateRow& row);
  std::size_t ranks() const { return until_.size(); }
  std::size_t size() const { return found_.size(); }

  struct Chunk {
    std::vector<double> begins;
    std::vector<std::int32_t> offsets;
    std::vector<double> ends;
    std::vector<SpanKey> keys;
    // All states lie between them.
    double begin = std::numeric_limits<double>::infinity(), end = 0.0;
  };
  // The states that were added since the last time.
  Chunk take();

 private:
  struct Found {
    double end;
    std::int32_t rank;
    SpanKey key;
  };
  std::vector<double> until_;  // when the last state of each rank ended
  std::vector<double> begins_;
  std::vector<Found> found_;
};

}  // namespace tisim
