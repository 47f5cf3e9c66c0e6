// A tournament tree that finds the lowest of numbered levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/stack.hpp"

namespace tisim::max_min {

class LevelTree {
 public:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  void clear() {
    count_ = 0;
    resize(kMinLeaves);
  }
  // Appends a level, with the next number.
  void add(double level) {
    if (count_ == leaves_) resize(2 * leaves_);
    set(count_++, level);
  }
  void set(std::size_t number, double level) {
    levels_[number] = level;
    for (std::size_t i = (leaves_ + number) / 2; i > 0; i /= 2) {
      const std::uint32_t lower = lower_child(i);
      if (lowest_[i] == lower && lower != number) return;
      lowest_[i] = lower;
    }
  }

  double operator[](std::size_t number) const { return levels_[number]; }
  double lowest() const { return levels_[number_of_lowest()]; }
  std::size_t number_of_lowest() const { return lowest_[1]; }
  // Appends the numbers of the levels up to `most`, in ascending order.
  void append_within(double most, Stack<std::int32_t>& numbers) const { append(1, most, numbers); }

 private:
  static constexpr std::size_t kMinLeaves = 8;

  void resize(std::size_t leaves) {
    leaves_ = leaves;
    if (count_ == 0) levels_.clear();
    levels_.resize(leaves, kNone);
    lowest_.resize(leaves, 0);
    for (std::size_t i = leaves - 1; i > 0; --i) lowest_[i] = lower_child(i);
  }
  // Returns the number of the lowest level below a node; a leaf has only one.
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

  std::size_t count_ = 0, leaves_ = 0;  // unused leaves are `kNone`
  Stack<double> levels_;
  Stack<std::uint32_t> lowest_;  // number of the lowest level below each inner node
};

}  // namespace tisim::max_min
