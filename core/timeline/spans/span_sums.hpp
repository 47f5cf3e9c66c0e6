// Sums over a grid of lanes and parts of the time, of spans that are spread over it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "timeline/spans/lane_cells.hpp"
#include "timeline/spans/states_by_rank.hpp"

namespace tisim {

// Spans to add: a state of a rank, or what is known of several within a part of the time. All
// columns have one length.
struct Spans {
  std::span<const double> start, end;   // seconds
  std::span<const std::int32_t> lane;   // of the grid; others are left out
  std::span<const std::int32_t> key;    // of the grid; others are left out
  std::span<const double> seconds;      // spread evenly from start to end
  std::span<const double> longest;      // seconds of the longest state in it
  std::span<const std::int64_t> count;  // states that end in it
};

// Which lanes of a table are wanted, and where they belong in the grid.
struct WantedLanes {
  std::span<const std::int32_t> from;  // in the table; ranks are lanes too
  std::span<const std::int32_t> to;    // in the grid
  std::span<const std::int32_t> key;   // of the grid, by SpanKey; -1: it is left out
};

// By [lane][part][key]: seconds, the longest of the states that touch the part, how many end there.
class SpanSums {
 public:
  // Of `parts` equal parts of the time from `begin` to `end`.
  SpanSums(double begin, double end, std::size_t lanes, std::size_t parts, std::size_t keys);

  std::size_t keys() const { return keys_; }
  void add(const Spans& spans);
  // Throw std::out_of_range when a wanted lane is not in the table, or the table is inconsistent.
  void add(const StateSpans& states, const WantedLanes& wanted);
  // The cells are those of `parts` equal parts of the time from 0 to `end`. Seconds of lanes of the
  // grid are multiplied by `scale`.
  void add(const LaneCells& cells, double parts, double end, const WantedLanes& wanted,
           std::span<const double> scale);

  // Those of the cells that are not empty, in the order of (part, lane, key).
  struct Cell {
    std::uint32_t part, lane, key;
    float seconds, longest;
    std::uint32_t count;
  };
  std::vector<Cell> cells() const;
  // The same by lane, where parts count from `first` and keys have the names `keys`.
  LaneTable by_lane(std::uint32_t first, std::span<const SpanKey> keys) const;

 private:
  struct Sum {
    float seconds = 0.0F, longest = 0.0F;
    std::uint32_t count = 0;
    bool is_empty() const { return count == 0 && seconds <= 0.0F; }
  };
  // A part's own sum, with that of its block.
  static Sum joined(const Sum& own, const Sum& of_block) {
    return {own.seconds + of_block.seconds, std::max(own.longest, of_block.longest), own.count};
  }
  struct One {
    double start, end, seconds, longest;
    std::uint32_t count;
  };
  void add(const One& span, std::size_t lane, std::size_t key);
  // Add to whole parts from `first` to before `stop`: in O(parts / kBlock).
  void add_whole(std::size_t first, std::size_t stop, float seconds, float longest,
                 std::size_t lane, std::size_t key);
  std::size_t part_of(double time) const;
  // The sum of a cell, with what was added to its block.
  Sum sum_of(std::size_t part, std::size_t lane, std::size_t key) const;

  // A long span is added to blocks of so many parts, not to each part.
  static constexpr std::size_t kBlock = 8;

  double begin_, end_, width_, parts_a_second_;
  std::size_t lanes_, parts_, keys_, blocks_;
  std::vector<Sum> sums_;
  std::vector<Sum> of_blocks_;  // by [lane][block][key]: what each part of the block has besides
};

}  // namespace tisim
