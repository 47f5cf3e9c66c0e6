// Objects addressed by number and reused after release: no allocation in the steady state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/stack.hpp"

namespace tisim {

template <class T>
class Pool {
 public:
  std::int32_t acquire() {
    if (free_.empty()) {
      items_.push_back(T{});
      return static_cast<std::int32_t>(items_.size()) - 1;
    }
    const std::int32_t index = free_.back();
    free_.pop_back();
    items_[static_cast<std::size_t>(index)] = T{};
    return index;
  }

  void release(std::int32_t index) { free_.push_back(index); }

  T& operator[](std::int32_t index) { return items_[static_cast<std::size_t>(index)]; }
  const T& operator[](std::int32_t index) const { return items_[static_cast<std::size_t>(index)]; }
  // The free numbers up to `capacity`. Slow: for tests and `verify`.
  std::vector<bool> free_numbers() const {
    std::vector<bool> free(items_.size());
    for (const std::int32_t number : free_) free.at(static_cast<std::size_t>(number)) = true;
    return free;
  }
  // Returns true if every free number was released once.
  bool is_consistent() const {
    const std::vector<bool> free = free_numbers();
    return static_cast<std::size_t>(std::count(free.begin(), free.end(), true)) == free_.size();
  }
  std::size_t in_use() const { return items_.size() - free_.size(); }
  std::size_t capacity() const { return items_.size(); }

 private:
  using Items = std::conditional_t<std::is_trivially_copyable_v<T>, Stack<T>, std::vector<T>>;
  Items items_;
  Stack<std::int32_t> free_;
};

}  // namespace tisim
