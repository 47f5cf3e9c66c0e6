// A queue that takes no memory while it is empty.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tisim {

// A std::deque has room for some elements even then, which counts with a million of them.
template <typename T>
class CompactQueue {
 public:
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  T& front() { return items_[first_]; }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  iterator begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  iterator end() { return items_.end(); }
  const_iterator begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  const_iterator end() const { return items_.end(); }

  T& emplace_back() { return items_.emplace_back(); }
  void push_back(const T& item) { items_.push_back(item); }
  void pop_front() {
    ++first_;
    tidy();
  }
  void erase(iterator at) {
    if (at == begin()) {
      ++first_;
    } else {
      items_.erase(at);
    }
    tidy();
  }
  template <typename Predicate>
  void erase_if(Predicate predicate) {
    items_.erase(items_.begin(), begin());
    first_ = 0;
    std::erase_if(items_, predicate);
    tidy();
  }

 private:
  void tidy() {
    if (empty()) {
      items_ = {};
      first_ = 0;
    } else if (2 * first_ > items_.size()) {
      items_.erase(items_.begin(), begin());
      first_ = 0;
    }
  }

  std::vector<T> items_;
  std::size_t first_ = 0;  // of those that are in the queue
};

}  // namespace tisim
