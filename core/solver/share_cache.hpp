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
#include <cstdlib>
#include <memory>
#include <new>

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
    const Solution& solution = place(hash);
    if (solution.hash != hash || solution.size != component.variables().size()) return false;
    for (std::size_t i = 0; i < solution.size; ++i) {
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
    Solution& solution = place(hash);
    solution.hash = hash;
    solution.size = component.shares().size();
    for (std::size_t i = 0; i < solution.size; ++i) {
      const auto [index, share] = component.shares()[i];
      solution.shares[i] = {index, system.variable(index).count, share};
    }
  }

  // All solutions are out of date: a capacity or a type has changed.
  void clear() { places_.reset(); }

 private:
  struct CountedShare {
    std::int32_t variable;
    std::int32_t count;
    double value;
  };
  struct Solution {
    std::uint64_t hash;
    std::size_t size;  // 0: nothing is kept here
    std::array<CountedShare, kLargest> shares;
  };
  struct Free {
    void operator()(Solution* places) const { std::free(places); }
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

  // The place of a hash; it may hold another solution. All places are there from the first use on,
  // but take memory only as they are written to.
  Solution& place(std::uint64_t hash) {
    if (!places_) {
      places_.reset(static_cast<Solution*>(std::calloc(kPlaces, sizeof(Solution))));
      if (!places_) throw std::bad_alloc();
    }
    return places_.get()[hash & (kPlaces - 1)];
  }

  std::unique_ptr<Solution, Free> places_;
};

}  // namespace tisim::max_min
