// A list that is filled and emptied again and again: to append to it is a few instructions, in
// line.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace tisim {

template <class T>
class Stack {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Stack() = default;
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void push_back(T item) {
    if (size_ == places_.size()) grow();
    places_[size_++] = item;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t at) { return places_[at]; }
  const T& operator[](std::size_t at) const { return places_[at]; }
  T& back() { return places_[size_ - 1]; }
  T* begin() { return places_.data(); }
  T* end() { return places_.data() + size_; }
  const T* begin() const { return places_.data(); }
  const T* end() const { return places_.data() + size_; }

 private:
  [[gnu::noinline]] void grow() { places_.resize(2 * size_ + 16); }

  std::vector<T> places_;
  std::size_t size_ = 0;
};

}  // namespace tisim
