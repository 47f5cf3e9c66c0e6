// Checks what Sequitur promises between calls.
#include <algorithm>

#include "trace/tit/grammar/sequitur.hpp"

namespace tisim {
namespace tit {

const char* Sequitur::verify() const {
  constexpr std::uint64_t kSumsFit = 0xffffffff;  // larger exponents stay apart
  std::size_t digrams = 0;
  std::size_t all_items = 0;
  for (std::uint32_t number = 0; number < rules_.size(); ++number) {
    const Rule& rule = rules_[number];
    if (rule.guard == kNone) continue;
    if (nodes_[rule.guard].symbol != number || !is_guard(rule.guard)) return "a guard is lost";
    std::size_t items = 0;
    for (NodeId node = first_of(number); !is_guard(node); node = nodes_[node].next, ++items) {
      const NodeId next = nodes_[node].next;
      if (nodes_[next].prev != node) return "a list of items is broken";
      if (item(node).is_rule() && rules_[item(node).number()].guard == kNone) {
        return "a freed rule is used";
      }
      if (is_guard(next)) continue;
      if (nodes_[node].symbol == nodes_[next].symbol) {
        if (std::uint64_t{nodes_[node].exponent} + nodes_[next].exponent <= kSumsFit) {
          return "equal neighbours are not one";
        }
        continue;
      }
      ++digrams;
      if (index_.find(hash(node), [this, node](NodeId other) { return equal(node, other); }) !=
          node) {
        return "a digram occurs twice, or is not in the index";
      }
    }
    all_items += items;
    if (number == 0) continue;
    std::size_t uses = 0;
    std::uint64_t largest = 0;
    for (NodeId use = rule.first_use; use != kNone; use = nodes_[use].next_use, ++uses) {
      if (item(use) != Item::rule(number, nodes_[use].exponent)) return "a use is none";
      largest = std::max<std::uint64_t>(largest, nodes_[use].exponent);
    }
    if (uses != rule.uses) return "uses are counted wrong";
    if (rule.holds > 0) return "a rule is still held";
    if (uses == 0 || (uses == 1 && largest == 1)) return "a rule is used less than twice";
    if (items < 2 && largest * nodes_[first_of(number)].exponent <= kSumsFit) {
      return "a rule has less than two items";
    }
  }
  if (digrams != index_.size()) return "the index has digrams that are not in the grammar";
  if (all_items != this->items()) return "items are lost";
  return "";
}

}  // namespace tit
}  // namespace tisim
