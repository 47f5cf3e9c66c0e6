// A list that is filled and emptied repeatedly: appending takes a few inlined instructions.
//
// It takes 16 bytes when empty. There may be millions of items: on growth the system moves their
// pages (realloc), so that the old and the new memory never coexist, and unused capacity takes no
// physical memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace tisim {

template <class T>
class Stack {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));

 public:
  Stack() = default;
  Stack(Stack&& other) noexcept { swap(other); }
  Stack& operator=(Stack&& other) noexcept {
    Stack(std::move(other)).swap(*this);
    return *this;
  }
  ~Stack() { std::free(places_); }

  void push_back(T item) {
    if (size_ == room_) reserve(2 * std::size_t{room_} + kMinRoom);
    places_[size_++] = item;
  }
  // Reserves space for `more` items at the end.
  void make_room(std::size_t more) {
    if (size_ + more > room_) reserve(2 * std::size_t{room_} + more);
  }
  // Appends without a branch on `wanted`; requires spare capacity.
  void append_if(bool wanted, T item) {
    places_[size_] = item;
    size_ += wanted ? 1 : 0;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  // Empties the list and releases a large buffer: it may not be refilled soon.
  void clear_and_release() {
    size_ = 0;
    if (std::size_t{room_} * sizeof(T) >= kMinReleased) Stack().swap(*this);
  }
  // Reserves space for at least `room` items.
  [[gnu::noinline]] void reserve(std::size_t room) {
    if (room <= room_) return;
    void* const places = room > kMaxRoom ? nullptr : std::realloc(places_, room * sizeof(T));
    if (places == nullptr) throw std::bad_alloc();
    places_ = static_cast<T*>(places);
    room_ = static_cast<std::uint32_t>(room);
  }
  // Shortens the list or appends copies of `item`.
  void resize(std::size_t count, T item) {
    reserve(count);
    while (size_ < count) places_[size_++] = item;
    size_ = static_cast<std::uint32_t>(count);
  }

  // Grows to at least `count` items. New ones are uninitialised, and take no memory if there are
  // many.
  void grow_to(std::size_t count) {
    if (count <= size_) return;
    if (count > room_) reserve(std::max(count, 2 * std::size_t{room_}));
    size_ = static_cast<std::uint32_t>(count);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return room_; }
  T& operator[](std::size_t at) { return places_[at]; }
  const T& operator[](std::size_t at) const { return places_[at]; }
  T& back() { return places_[size_ - 1]; }
  T* begin() { return places_; }
  T* end() { return places_ + size_; }
  const T* begin() const { return places_; }
  const T* end() const { return places_ + size_; }

 private:
  static constexpr std::size_t kMinRoom = 4;
  static constexpr std::size_t kMaxRoom = 0xffffffff;
  static constexpr std::size_t kMinReleased = 1U << 20;  // bytes

  void swap(Stack& other) noexcept {
    std::swap(places_, other.places_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }

  T* places_ = nullptr;
  std::uint32_t size_ = 0, room_ = 0;
};

}  // namespace tisim
