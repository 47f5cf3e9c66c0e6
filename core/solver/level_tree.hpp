// Numbered levels, of which the lowest is found: a tournament of all.
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
    const std::size_t count = std::max<std::size_t>(levels_.size(), 1);
    leaves_ = std::bit_ceil(count);
    levels_.resize(leaves_, kNone);
    lowest_.resize(leaves_, 0);
    for (std::size_t i = leaves_ - 1; i > 0; --i) lowest_[i] = lower_child(i);
  }
  void set(std::size_t number, double level) {
    levels_[number] = level;
    for (std::size_t i = (leaves_ + number) / 2; i > 0; i /= 2) {
      const std::uint32_t lower = lower_child(i);
      if (lowest_[i] == lower && lower != number) return;
      lowest_[i] = lower;
    }
  }

  double lowest() const { return levels_[number_of_lowest()]; }
  std::size_t number_of_lowest() const { return leaves_ > 1 ? lowest_[1] : 0; }
  // Appends the numbers of the levels up to one, in ascending order.
  void append_within(double most, Stack<std::int32_t>& numbers) const { append(1, most, numbers); }

 private:
  // The number of the lowest level below a node: a leaf has one only.
  std::uint32_t lowest_below(std::size_t node) const {
    return node < leaves_ ? lowest_[node] : static_cast<std::uint32_t>(node - leaves_);
  }
  std::uint32_t lower_child(std::size_t node) const {
    const std::uint32_t left = lowest_below(2 * node), right = lowest_below(2 * node + 1);
    return levels_[right] < levels_[left] ? right : left;
  }
  void append(std::size_t node, double most, Stack<std::int32_t>& numbers) const {
    const std::uint32_t lowest = lowest_below(node);
    if (!(levels_[lowest] <= most)) return;
    if (node >= leaves_) {
      numbers.push_back(static_cast<std::int32_t>(lowest));
      return;
    }
    append(2 * node, most, numbers);
    append(2 * node + 1, most, numbers);
  }

  std::size_t leaves_ = 1;
  Stack<double> levels_;
  Stack<std::uint32_t> lowest_;  // the number of the lowest level below each inner node
};

}  // namespace tisim::max_min
