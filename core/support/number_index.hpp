// Finds numbered objects by their keys: a hash table that stores only numbers.
//
// Keys stay in the objects, and the caller compares them. An object thus takes 6 to 12 bytes in the
// table, compared with 40 in std::unordered_map.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tisim {

// The finaliser of splitmix64: every bit of the key affects half of the hash's bits.
constexpr std::uint64_t hash_of(std::uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ULL;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebULL;
  return key ^ (key >> 31);
}

// `is(number)` returns whether the object has the wanted key, `hash(number)` the hash of its key.
class NumberIndex {
 public:
  std::size_t size() const { return size_; }

  // Returns the number of the object with a key of this hash, or -1.
  template <class Is>
  std::int32_t find(std::uint64_t hash, Is is) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const std::int32_t number = places_[at];
      if (number < 0 || is(number)) return number;
    }
  }

  // Adds an object with a new key. Existing objects are rehashed when the table grows.
  template <class Hash>
  void insert(std::int32_t number, Hash hash) {
    if (3 * (size_ + 1) > 2 * places_.size()) {
      const std::vector<std::int32_t> old = std::exchange(places_, {});
      clear(2 * old.size());
      for (const std::int32_t other : old) {
        if (other >= 0) put(other, hash(other));
      }
    }
    put(number, hash(number));
    ++size_;
  }

  // Removes an object that is present. Objects whose probe sequence crosses the hole move into it
  // (Knuth, TAOCP 3, 6.4, algorithm R).
  template <class Hash>
  void erase(std::int32_t number, Hash hash) {
    std::size_t hole = hash(number) & mask_;
    while (places_[hole] != number) hole = (hole + 1) & mask_;
    for (std::size_t at = (hole + 1) & mask_; places_[at] >= 0; at = (at + 1) & mask_) {
      const std::size_t home = hash(places_[at]) & mask_;
      if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = -1;
    --size_;
  }

  // Renumbers all objects as 0 to `count` - 1, with space for as many more.
  template <class Hash>
  void renumber(std::size_t count, Hash hash) {
    clear(std::bit_ceil(3 * count + kMinPlaces));
    for (size_ = 0; size_ < count; ++size_) {
      const auto number = static_cast<std::int32_t>(size_);
      put(number, hash(number));
    }
  }

 private:
  static constexpr std::size_t kMinPlaces = 16;

  void clear(std::size_t places) {
    places_ = std::vector<std::int32_t>(places, -1);
    mask_ = places - 1;
  }

  void put(std::int32_t number, std::uint64_t hash) {
    std::size_t at = hash & mask_;
    while (places_[at] >= 0) at = (at + 1) & mask_;
    places_[at] = number;
  }

  std::vector<std::int32_t> places_ = std::vector<std::int32_t>(kMinPlaces, -1);
  std::size_t mask_ = kMinPlaces - 1;
  std::size_t size_ = 0;
};

}  // namespace tisim
