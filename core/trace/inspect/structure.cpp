#include "trace/inspect/structure.hpp"

#include <algorithm>
#include <map>

#include "support/largest_first.hpp"
#include "trace/packed/program.hpp"

namespace tisim {

ProgramStructure::ProgramStructure(const tit::RankClass& rank_class,
                                   const std::vector<std::string>& actions)
    : class_(rank_class),
      actions_(actions),
      lengths_(rank_class.grammar.lengths()),
      order_(order_of_rules(rank_class.grammar)) {
  const std::vector<std::uint64_t> uses = uses_of_rules(class_.grammar);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> entered;
  for (std::size_t rule = 0; rule < uses.size(); ++rule) {
    for (const tit::Item& item : class_.grammar.rules[rule]) {
      if (item.exponent > 1) entered[{item.symbol, item.exponent}] += uses[rule];
    }
  }
  for (const auto& [key, times] : entered) {
    const tit::Item item{key.first, key.second};
    repeats_.push_back({item, times, times * item.exponent * length_of(item)});
  }
  keep_largest(repeats_, repeats_.size(), [](const Repeat& repeat) { return repeat.calls; });
}

std::uint64_t ProgramStructure::length_of(tit::Item item) const {
  return item.is_rule() ? lengths_[item.number()] : 1;
}

std::uint64_t ProgramStructure::longest_loop() const {
  std::uint64_t longest = 0;
  for (const Repeat& repeat : repeats_) {
    longest = std::max<std::uint64_t>(longest, repeat.item.exponent);
  }
  return longest;
}

std::vector<ProgramLoop> ProgramStructure::loops(std::size_t most, std::uint64_t& others) const {
  std::vector<ProgramLoop> loops;
  for (const Repeat& repeat : repeats_) {
    if (loops.size() == most) break;
    ProgramLoop loop{repeat.item.exponent, repeat.entered, length_of(repeat.item), {}};
    name_actions(repeat.item, loop);
    loops.push_back(std::move(loop));
  }
  others = repeats_.size() - loops.size();
  return loops;
}

void ProgramStructure::name_actions(tit::Item item, ProgramLoop& loop) const {
  // Calls are numbered in the order of their first occurrence on a rank.
  std::map<std::uint32_t, std::uint64_t> times;
  if (!item.is_rule()) {
    times[item.number()] = 1;
  } else {
    std::vector<std::uint64_t> uses(lengths_.size(), 0);
    uses[item.number()] = 1;
    for (const std::uint32_t rule : order_) {
      if (uses[rule] == 0) continue;
      for (const tit::Item& inner : class_.grammar.rules[rule]) {
        (inner.is_rule() ? uses[inner.number()] : times[inner.number()]) +=
            uses[rule] * inner.exponent;
      }
    }
  }
  for (const auto& [call, count] : times) {
    const std::string& action = actions_[call];
    if (action.empty()) continue;
    const auto known = std::find_if(loop.actions.begin(), loop.actions.end(),
                                    [&](const auto& entry) { return entry.first == action; });
    if (known == loop.actions.end()) {
      loop.actions.emplace_back(action, count);
    } else {
      known->second += count;
    }
  }
}

std::vector<OutlineLine> ProgramStructure::outline(std::size_t most) const {
  std::vector<OutlineLine> lines;
  add_lines(0, 0, most, lines);
  return lines;
}

// Rules that are not repeated are expanded in place.
void ProgramStructure::add_lines(std::uint32_t rule, std::uint32_t depth, std::size_t most,
                                 std::vector<OutlineLine>& lines) const {
  const std::vector<tit::Item>& items = class_.grammar.rules[rule];
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (lines.size() >= most) {
      std::uint64_t calls = 0;
      for (; i < items.size(); ++i) calls += items[i].exponent * length_of(items[i]);
      const bool follows =
          lines.back().kind == OutlineLine::LineKind::omitted && lines.back().depth == depth;
      if (follows) {
        lines.back().calls += calls;
      } else {
        lines.push_back({OutlineLine::LineKind::omitted, depth, 1, 0, calls});
      }
      return;
    }
    const tit::Item item = items[i];
    if (!item.is_rule()) {
      lines.push_back(
          {OutlineLine::LineKind::call, depth, item.exponent, class_.signatures[item.number()], 1});
    } else if (item.exponent == 1) {
      add_lines(item.number(), depth, most, lines);
    } else {
      lines.push_back(
          {OutlineLine::LineKind::loop, depth, item.exponent, 0, lengths_[item.number()]});
      add_lines(item.number(), depth + 1, most, lines);
    }
  }
}

}  // namespace tisim
