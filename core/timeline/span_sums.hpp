// Sums over a grid of lanes and parts of the time, of spans that are spread over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// By [lane][part][key]: seconds, the longest of the states that touch the part, how many end there.
class SpanSums {
 public:
  // Of `parts` equal parts of the time from `begin` to `end`.
  SpanSums(double begin, double end, std::size_t lanes, std::size_t parts, std::size_t keys);

  void add(const Spans& spans);

  // Those of the cells that are not empty, in the order of (part, lane, key).
  struct Cell {
    std::uint32_t part, lane, key;
    float seconds, longest;
    std::uint32_t count;
  };
  std::vector<Cell> cells() const;

 private:
  struct Sum {
    float seconds = 0.0F, longest = 0.0F;
    std::uint32_t count = 0;
  };
  std::size_t part_of(double time) const;

  double begin_, end_, width_;
  std::size_t lanes_, parts_, keys_;
  std::vector<Sum> sums_;
};

}  // namespace tisim
