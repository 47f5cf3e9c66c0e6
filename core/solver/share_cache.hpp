// Solutions of small components that come again: programs repeat themselves.
//
// What the variables of a component get depends on nothing but which variables they are and how
// many flows each has. Solutions are kept by a hash of both, one a place, and checked in full when
// found.
//
// The class promises: a solution that it gives was the solution of exactly this component, since
// `clear` was called last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "solver/component.hpp"
#include "solver/system.hpp"

namespace tisim::max_min {

class ShareCache {
 public:
  static constexpr std::size_t kLargest = 12;  // variables of a component that is kept

  // A component as a key. Its hash is a sum over the variables, in any order.
  static std::uint64_t hash(const System& system, const Component& component) {
    std::uint64_t sum = 0;
    for (const std::int32_t index : component.variables()) {
      sum += hash(index, system.variable(index).count);
    }
    return sum;
  }

  // Gives the component its shares, if its solution is known.
  bool recall(std::uint64_t hash, const System& system, Component& component) {
    if (!sizes_) return false;
    const std::size_t at = place(hash);
    const std::size_t size = sizes_[at];
    const Solution& solution = solutions_[at];
    if (size != component.variables().size() || solution.hash != hash) return false;
    for (std::size_t i = 0; i < size; ++i) {
      const CountedShare& share = solution.shares[i];
      if (component.is_fixed(share.variable) ||
          system.variable(share.variable).count != share.count) {
        component.shares().clear();
        return false;
      }
      component.shares().push_back({share.variable, share.value});
    }
    return true;
  }

  // Keeps the shares of the component.
  void remember(std::uint64_t hash, const System& system, const Component& component) {
    if (!sizes_) make_places();
    const std::size_t at = place(hash);
    const std::size_t size = component.shares().size();
    Solution& solution = solutions_[at];
    sizes_[at] = static_cast<std::uint8_t>(size);
    solution.hash = hash;
    for (std::size_t i = 0; i < size; ++i) {
      const auto [index, share] = component.shares()[i];
      solution.shares[i] = {index, system.variable(index).count, share};
    }
  }

  // All solutions are out of date: a capacity or a type has changed.
  void clear() { sizes_.reset(); }

 private:
  struct CountedShare {
    std::int32_t variable;
    std::int32_t count;
    double value;
  };
  struct Solution {
    std::uint64_t hash;
    std::array<CountedShare, kLargest> shares;  // as many as there are variables
  };
  static constexpr std::size_t kPlaces = 32768;

  static std::uint64_t hash(std::int32_t variable, std::int32_t count) {
    std::uint64_t h = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(variable)) << 32 |
                       static_cast<std::uint32_t>(count)) *
                      0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ULL;
    return h ^ h >> 29;
  }

  // It may hold the solution of another hash.
  static std::size_t place(std::uint64_t hash) { return hash & (kPlaces - 1); }

  // All places are there from the first solution on, but take memory only as they are written to:
  // nothing is read of a place whose size is 0. To zero them all would take longer than many a
  // short replay.
  void make_places() {
    sizes_ = std::make_unique<std::uint8_t[]>(kPlaces);
    if (!solutions_) solutions_ = std::make_unique_for_overwrite<Solution[]>(kPlaces);
  }

  std::unique_ptr<std::uint8_t[]> sizes_;  // variables of the solution at a place; 0: none
  std::unique_ptr<Solution[]> solutions_;
};

}  // namespace tisim::max_min
