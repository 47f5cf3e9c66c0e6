// A grammar that answers what stands at a position, without being expanded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"

namespace tisim {
namespace tit {

// Each terminal has a weight; sums of weights are modulo 2^64. A question takes a binary search in
// each of the rules that are in one another at the position.
class IndexedSequence {
 public:
  IndexedSequence() = default;
  IndexedSequence(const Grammar& grammar, const std::vector<std::uint64_t>& weights);

  struct Found {
    std::uint32_t terminal;
    std::uint64_t sum;  // of the weights up to the position, that one included
  };
  // The position must be less than the length of the sequence.
  Found at(std::uint64_t position) const;

 private:
  // An item, with what is before it in its rule and what its symbol stands for once.
  struct Part {
    std::uint64_t start, sum_before;
    std::uint64_t length, sum;
    Item item;
  };

  std::vector<std::vector<Part>> rules_;
};

}  // namespace tit
}  // namespace tisim
