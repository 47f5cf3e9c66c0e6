// Spans of states by rank, and their sums in lanes of cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

// The states of a stretch of a run by rank, in the form that pictures use.

// A state and an action kind as one key: state * 256 + kind.
using SpanKey = std::uint16_t;
inline constexpr std::size_t kSpanKeys = 1 << 16;
// In no state: before a rank's first state, or between two.
inline constexpr SpanKey kNoState = 0xffff;

// The states of rank r end at ends[offsets[r]], ... up to offsets[r + 1]. The first begins at
// begins[r], each other one at the end of the previous one.
struct StateSpans {
  std::span<const double> begins;         // seconds, by rank
  std::span<const std::int32_t> offsets;  // by rank, and one more
  std::span<const double> ends;           // seconds
  std::span<const SpanKey> keys;
};

// Collects rows of states, which must come in the order of their ends.
class StatesByRank {
 public:
  explicit StatesByRank(std::size_t ranks) : until_(ranks, 0.0) {}

  // Throws std::out_of_range if its rank is unknown.
  void add(const StateRow& row);
  std::size_t ranks() const { return until_.size(); }
  std::size_t size() const { return found_.size(); }

  struct Chunk {
    std::vector<double> begins;
    std::vector<std::int32_t> offsets;
    std::vector<double> ends;
    std::vector<SpanKey> keys;
    // Bounds of all states.
    double begin = std::numeric_limits<double>::infinity(), end = 0.0;
  };
  // Returns the states added since the last call.
  Chunk take();

 private:
  struct Found {
    double end;
    std::int32_t rank;
    SpanKey key;
  };
  std::vector<double> until_;  // by rank: end of its last state
  std::vector<double> begins_;
  std::vector<Found> found_;
};

// Cells of a level of a run file, by lane.

// The cells of lane l are at offsets[l], ... up to offsets[l + 1], by part and key.
struct LaneCells {
  std::span<const std::int32_t> offsets;  // by lane, and one more
  std::span<const std::uint32_t> part;
  std::span<const SpanKey> key;
  std::span<const float> seconds, longest;
  std::span<const std::uint32_t> count;
};

// The same with its own memory.
struct LaneTable {
  std::vector<std::int32_t> offsets;
  std::vector<std::uint32_t> part;
  std::vector<SpanKey> key;
  std::vector<float> seconds, longest;
  std::vector<std::uint32_t> count;

  // The cells with parts twice as long.
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

// Sums over a grid of lanes and parts of the time, of spans distributed over it.

// Spans to add: a state of a rank, or the totals of several states within a part of the time. All
// columns have the same length.
struct Spans {
  std::span<const double> start, end;   // seconds
  std::span<const std::int32_t> lane;   // of the grid; others are ignored
  std::span<const std::int32_t> key;    // of the grid; others are ignored
  std::span<const double> seconds;      // spread evenly from start to end
  std::span<const double> longest;      // seconds of the longest state in it
  std::span<const std::int64_t> count;  // states that end in it
};

// Selected lanes of a table, and their positions in the grid.
struct LaneSelection {
  std::span<const std::int32_t> from;  // in the table; ranks are lanes too
  std::span<const std::int32_t> to;    // in the grid
  std::span<const std::int32_t> key;   // of the grid, by SpanKey; -1: ignored
};

// By [lane][part][key]: seconds, longest state that touches the part, states that end in it.
class SpanSums {
 public:
  // Sums over `parts` equal parts of the time from `begin` to `end`.
  SpanSums(double begin, double end, std::size_t lanes, std::size_t parts, std::size_t keys);

  std::size_t keys() const { return keys_; }
  void add(const Spans& spans);
  // Throw std::out_of_range if a selected lane is not in the table, or the table is inconsistent.
  void add(const StateSpans& states, const LaneSelection& wanted);
  // The cells are those of `parts` equal parts of the time from 0 to `end`. Seconds of the grid's
  // lanes are multiplied by `scale`.
  void add(const LaneCells& cells, double parts, double end, const LaneSelection& wanted,
           std::span<const double> scale);

  // A nonempty cell; cells are in the order of (part, lane, key).
  struct Cell {
    std::uint32_t part, lane, key;
    float seconds, longest;
    std::uint32_t count;
  };
  std::vector<Cell> cells() const;
  // The same by lane; parts are numbered from `first`, and keys are translated by `keys`.
  LaneTable by_lane(std::uint32_t first, std::span<const SpanKey> keys) const;

 private:
  struct Sum {
    float seconds = 0.0F, longest = 0.0F;
    std::uint32_t count = 0;
    bool is_empty() const { return count == 0 && seconds <= 0.0F; }
  };
  // A part's own sum plus that of its block.
  static Sum joined(const Sum& own, const Sum& of_block) {
    return {own.seconds + of_block.seconds, std::max(own.longest, of_block.longest), own.count};
  }
  struct WeightedSpan {
    double start, end, seconds, longest;
    std::uint32_t count;
  };
  void add(const WeightedSpan& span, std::size_t lane, std::size_t key);
  // Adds to the whole parts from `first` to before `stop`, in O(parts / kBlock).
  void add_whole(std::size_t first, std::size_t stop, float seconds, float longest,
                 std::size_t lane, std::size_t key);
  std::size_t part_of(double time) const;
  // The sum of a cell, including that of its block.
  Sum sum_of(std::size_t part, std::size_t lane, std::size_t key) const;

  // A long span is added to blocks of this many parts instead of to each part.
  static constexpr std::size_t kBlock = 8;

  double begin_, end_, width_, parts_a_second_;
  std::size_t lanes_, parts_, keys_, blocks_;
  std::vector<Sum> sums_;
  std::vector<Sum> block_sums_;  // by [lane][block][key]: added to each part of the block
};

// The order of rows of fixed size by rank.

// The order of rows by the rank (std::int32_t) at an offset in each row; stable within a rank.
// Throws std::out_of_range if a rank is negative or not below `ranks`.
std::vector<std::uint32_t> order_by_rank(std::string_view rows, std::size_t row_size,
                                         std::size_t rank_at, std::size_t ranks);

}  // namespace tisim
