#include "trace/tit/vector/indexed_sequence.hpp"

#include <algorithm>

namespace tisim {
namespace tit {

IndexedSequence::IndexedSequence(const Grammar& grammar, const std::vector<std::uint64_t>& weights)
    : rules_(grammar.rules.size()) {
  std::vector<std::uint64_t> length(rules_.size()), sum(rules_.size());
  for (const std::uint32_t rule : grammar.used_first()) {
    rules_[rule].reserve(grammar.rules[rule].size());
    for (const Item item : grammar.rules[rule]) {
      const std::uint32_t number = item.number();
      const std::uint64_t once = item.is_rule() ? length[number] : 1;
      const std::uint64_t weight = item.is_rule() ? sum[number] : weights[number];
      rules_[rule].push_back({length[rule], sum[rule], once, weight, item});
      length[rule] += once * item.exponent;
      sum[rule] += weight * item.exponent;
    }
  }
}

IndexedSequence::Found IndexedSequence::at(std::uint64_t position) const {
  const std::vector<Part>* rule = &rules_[0];
  std::uint64_t sum = 0;
  for (;;) {
    const auto after =
        std::upper_bound(rule->begin(), rule->end(), position,
                         [](std::uint64_t at, const Part& part) { return at < part.start; });
    const Part& part = *(after - 1);
    position -= part.start;
    const std::uint64_t passed = position / part.length;
    position -= passed * part.length;
    sum += part.sum_before + passed * part.sum;
    if (!part.item.is_rule()) return {part.item.number(), sum + part.sum};
    rule = &rules_[part.item.number()];
  }
}

}  // namespace tit
}  // namespace tisim
