// Numbered levels, of which the lowest is found: a tree of the lower of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/stack.hpp"

namespace tisim::max_min {

class LevelTree {
 public:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  void clear() { levels_.clear(); }
  void push_back(double level) { levels_.push_back(level); }
  double& unsorted(std::size_t number) { return levels_[number]; }  // before `build`

  // Finds the lowest ones; levels are changed by `set` from now on.
  void build() {
    leaves_ = std::bit_ceil(std::max<std::size_t>(levels_.size(), 1));
    nodes_.clear();
    nodes_.resize(leaves_, kNone);
    for (const double level : levels_) nodes_.push_back(level);
    nodes_.resize(2 * leaves_, kNone);
    for (std::size_t i = leaves_ - 1; i > 0; --i) nodes_[i] = lower_child(i);
  }
  void set(std::size_t number, double level) {
    std::size_t i = leaves_ + number;
    nodes_[i] = level;
    for (i /= 2; i > 0; i /= 2) {
      const double lower = lower_child(i);
      if (nodes_[i] == lower) return;
      nodes_[i] = lower;
    }
  }

  double lowest() const { return nodes_[1]; }
  std::size_t number_of_lowest() const { return first_within(lowest()); }
  // Appends the numbers of the levels up to one, in ascending order.
  void append_within(double most, Stack<std::int32_t>& numbers) const { append(1, most, numbers); }

 private:
  double lower_child(std::size_t node) const {
    return std::min(nodes_[2 * node], nodes_[2 * node + 1]);
  }
  std::size_t first_within(double most) const {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (nodes_[2 * node] <= most ? 0 : 1);
    return node - leaves_;
  }
  void append(std::size_t node, double most, Stack<std::int32_t>& numbers) const {
    if (!(nodes_[node] <= most)) return;
    if (node >= leaves_) {
      numbers.push_back(static_cast<std::int32_t>(node - leaves_));
      return;
    }
    append(2 * node, most, numbers);
    append(2 * node + 1, most, numbers);
  }

  std::size_t leaves_ = 1;
  Stack<double> levels_;
  Stack<double> nodes_;  // the lower of two each; the levels from `leaves_` on
};

}  // namespace tisim::max_min
