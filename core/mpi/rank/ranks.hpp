// All ranks of a simulation, by their numbers in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/rank/rank.hpp"

namespace tisim {

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // The number of the first of `count` new ones. References to ranks are no longer good.
  std::int32_t add(std::size_t count) {
    const std::size_t first = ranks_.size();
    ranks_.resize(first + count);
    return static_cast<std::int32_t>(first);
  }
  Rank& operator[](std::int32_t index) { return ranks_[static_cast<std::size_t>(index)]; }
  const Rank& operator[](std::int32_t index) const {
    return ranks_[static_cast<std::size_t>(index)];
  }
  std::size_t size() const { return ranks_.size(); }
  const std::vector<Rank>& all() const { return ranks_; }

 private:
  std::vector<Rank> ranks_;
};

}  // namespace tisim
