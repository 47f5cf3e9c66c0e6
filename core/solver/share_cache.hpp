// A cache of solutions of small components, which recur because programs repeat themselves.
//
// The shares of a component depend only on its set of variables and the number of flows of each.
// Solutions are stored by a hash of both, one per slot, and compared in full on lookup.
//
// Invariant: a solution returned was computed for exactly this component since the last `clear`.
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
  static constexpr std::size_t kMaxVariables = 12;  // of a cached component

  // Hash of a component: a sum over its variables, independent of their order.
  static std::uint64_t hash(const System& system, const Component& component) {
    std::uint64_t sum = 0;
    for (const std::int32_t index : component.variables()) {
      sum += hash(index, system.variable(index).count);
    }
    return sum;
  }

  // Sets the shares of the component if its solution is cached.
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

  // Stores the shares of the component.
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

  // Invalidates all solutions after a change of a capacity or a type.
  void clear() { sizes_.reset(); }

 private:
  struct CountedShare {
    std::int32_t variable;
    std::int32_t count;
    double value;
  };
  struct Solution {
    std::uint64_t hash;
    std::array<CountedShare, kMaxVariables> shares;  // one per variable
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

  // The slot may contain the solution of another hash.
  static std::size_t place(std::uint64_t hash) { return hash & (kPlaces - 1); }

  // All slots are allocated for the first solution, but take physical memory only when written: a
  // slot of size 0 is never read. Zeroing them all would take longer than many short replays.
  void make_places() {
    sizes_ = std::make_unique<std::uint8_t[]>(kPlaces);
    if (!solutions_) solutions_ = std::make_unique_for_overwrite<Solution[]>(kPlaces);
  }

  std::unique_ptr<std::uint8_t[]> sizes_;  // number of variables per slot; 0: empty
  std::unique_ptr<Solution[]> solutions_;
};

}  // namespace tisim::max_min
