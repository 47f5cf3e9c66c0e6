#include "trace/inspect/contexts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <unordered_map>

namespace tisim {

namespace {

bool after(TypeDefault effect, bool before) {
  return effect == TypeDefault::kept ? before : effect == TypeDefault::doubles;
}

// The first and the last call of each rule, and what is the default type behind it when it was
// bytes or double before.
class RuleEnds {
 public:
  struct Ends {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::array<bool, 2> after{false, true};
  };

  RuleEnds(const tit::Grammar& grammar, const std::vector<TypeDefault>& effects)
      : effects_(effects), rules_(grammar.rules.size()) {
    for (const std::uint32_t rule : grammar.used_first()) {
      const std::vector<tit::Item>& items = grammar.rules[rule];
      if (items.empty()) continue;
      Ends& ends = rules_[rule];
      ends.first = of(items.front()).first;
      ends.last = of(items.back()).last;
      for (const tit::Item& item : items) {
        const Ends inner = of(item);
        for (bool& state : ends.after) state = inner.after[state ? 1 : 0];
      }
    }
  }

  Ends of(tit::Item item) const {
    if (item.is_rule()) return rules_[item.number()];
    const TypeDefault effect = effects_[item.number()];
    return {item.number(), item.number(), {after(effect, false), after(effect, true)}};
  }

 private:
  const std::vector<TypeDefault>& effects_;
  std::vector<Ends> rules_;
};

class ContextCounts {
 public:
  void add(std::uint32_t before, std::uint32_t call, bool double_default, std::uint64_t times) {
    // Calls and rules have numbers below 2^31.
    const std::uint64_t key = std::uint64_t{before} << 32 | call << 1 | (double_default ? 1 : 0);
    times_[key] += times;
  }

  std::vector<CallContext> sorted() const {
    std::vector<CallContext> all;
    all.reserve(times_.size());
    for (const auto& [key, times] : times_) {
      all.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key) >> 1,
                     (key & 1) != 0, times});
    }
    std::sort(all.begin(), all.end(), [](const CallContext& a, const CallContext& b) {
      return std::tie(a.before, a.call, a.double_default) <
             std::tie(b.before, b.call, b.double_default);
    });
    return all;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> times_;
};

}  // namespace

std::vector<CallContext> contexts_of(const tit::Grammar& grammar,
                                     const std::vector<TypeDefault>& effects) {
  const RuleEnds ends(grammar, effects);
  ContextCounts counts;
  if (grammar.rules[0].empty()) return {};
  counts.add(0, ends.of(grammar.rules[0].front()).first, false, 1);
  // How often each rule is followed while bytes, or doubles, are the default.
  std::vector<std::array<std::uint64_t, 2>> uses(grammar.rules.size());
  uses[0][0] = 1;
  std::vector<std::uint32_t> order = grammar.used_first();
  std::reverse(order.begin(), order.end());
  const auto follow = [&](tit::Item item, bool state, std::uint64_t times) {
    if (item.is_rule()) uses[item.number()][state ? 1 : 0] += times;
  };
  for (const std::uint32_t rule : order) {
    for (const bool entered : {false, true}) {
      const std::uint64_t times = uses[rule][entered ? 1 : 0];
      if (times == 0) continue;
      bool state = entered;
      std::uint32_t before = 0;
      for (const tit::Item& item : grammar.rules[rule]) {
        const RuleEnds::Ends inner = ends.of(item);
        // The context of the rule's own first call is counted where the rule is used.
        if (before > 0) counts.add(before, inner.first, state, times);
        follow(item, state, times);
        // From its second time on, an item leaves the default as it finds it.
        state = inner.after[state ? 1 : 0];
        if (item.exponent > 1) {
          const std::uint64_t again = times * (item.exponent - 1);
          counts.add(inner.last + 1, inner.first, state, again);
          follow(item, state, again);
        }
        before = inner.last + 1;
      }
    }
  }
  return counts.sorted();
}

std::uint32_t last_call_of(const tit::Grammar& grammar) {
  std::uint32_t rule = 0;
  while (!grammar.rules[rule].empty()) {
    const tit::Item last = grammar.rules[rule].back();
    if (!last.is_rule()) return last.number() + 1;
    rule = last.number();
  }
  return 0;
}

}  // namespace tisim
