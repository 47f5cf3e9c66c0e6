// Randomises the order of simultaneous events whose order is unspecified.
//
// Results must not depend on such an order. A core built with TISIM_VERIFY can draw it from a seed,
// and tests compare the results of several seeds. In any other core the class is empty and its
// functions do nothing.
#pragma once

#include <cstddef>

#ifdef TISIM_VERIFY
#include <cstdint>
#include <random>
#include <utility>
#endif

namespace tisim {

class DrawnOrder {
 public:
#ifdef TISIM_VERIFY
  // Starts randomising.
  void draw(std::uint32_t seed) {
    random_.seed(seed);
    draws_ = true;
  }

  // Swaps a random item from `first` on to position `first`.
  template <class List>
  void choose(List& list, std::size_t first) {
    if (!draws_ || list.size() - first < 2) return;
    std::swap(list[first], list[first + random_() % (list.size() - first)]);
  }

  template <class List>
  void shuffle(List& list) {
    for (std::size_t first = 0; draws_ && first < list.size(); ++first) choose(list, first);
  }

 private:
  std::mt19937 random_;  // same sequence on every machine
  bool draws_ = false;
#else
  template <class List>
  void choose(List& /*list*/, std::size_t /*first*/) {}
  template <class List>
  void shuffle(List& /*list*/) {}
#endif
};

}  // namespace tisim
