// Solutions of small systems that come again: programs repeat themselves.
//
// What the pairs of a component get depends on nothing but which pairs they are and how many flows
// each has. Solutions are kept by a hash of both, one a place, and checked in full when found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace tisim {

class ShareCache {
 public:
  static constexpr std::size_t kLargest = 12;  // pairs of a component that is kept

  struct Share {
    std::int32_t pair;
    std::int32_t count;
    double value;
  };
  struct Solution {
    std::uint64_t hash;
    std::size_t size;  // 0: nothing is kept here
    std::array<Share, kLargest> shares;
  };

  // Adds up over the pairs of a component, in any order.
  static std::uint64_t hash(std::int32_t pair, std::int32_t count) {
    std::uint64_t h = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(pair)) << 32 |
                       static_cast<std::uint32_t>(count)) *
                      0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ULL;
    return h ^ h >> 29;
  }

  // The place of a hash; it may hold another solution. All of them are there from the first use on,
  // but take memory only as they are written to.
  Solution& place(std::uint64_t hash) {
    if (!places_) {
      places_.reset(static_cast<Solution*>(std::calloc(kPlaces, sizeof(Solution))));
      if (!places_) throw std::bad_alloc();
    }
    return places_.get()[hash & (kPlaces - 1)];
  }

  // All solutions are out of date: a bandwidth has changed.
  void clear() { places_.reset(); }

 private:
  struct Free {
    void operator()(Solution* places) const { std::free(places); }
  };
  static constexpr std::size_t kPlaces = 32768;
  std::unique_ptr<Solution, Free> places_;
};

}  // namespace tisim
