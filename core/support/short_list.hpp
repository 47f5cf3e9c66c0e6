// A list optimised for a single item, which is stored in place; only more items are allocated on
// the heap. Its size is that of an item plus 8 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace tisim {

template <class T>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(std::is_trivially_default_constructible_v<T> && sizeof(T) >= sizeof(T*));

 public:
  ShortList() : here_{} {}
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;
  ~ShortList() {
    if (room_ > 1) std::free(there_);
  }

  void push_back(const T& item) {
    if (size_ == room_) grow();
    begin()[size_++] = item;
  }
  void pop_back() { --size_; }
  // Items after it move forward.
  void erase(T* item) {
    std::copy(item + 1, end(), item);
    --size_;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() { return *begin(); }
  T* begin() { return room_ > 1 ? there_ : &here_; }
  T* end() { return begin() + size_; }
  const T* begin() const { return room_ > 1 ? there_ : &here_; }
  const T* end() const { return begin() + size_; }

 private:
  [[gnu::noinline]] void grow() {
    auto* const places = static_cast<T*>(std::malloc(2 * std::size_t{room_} * sizeof(T)));
    if (places == nullptr) throw std::bad_alloc();
    std::copy(begin(), end(), places);
    if (room_ > 1) std::free(there_);
    there_ = places;
    room_ *= 2;
  }

  std::uint32_t size_ = 0, room_ = 1;
  union {
    T here_;
    T* there_;  // used if the capacity exceeds one
  };
};

}  // namespace tisim
