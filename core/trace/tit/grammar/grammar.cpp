#include "trace/tit/grammar/grammar.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tisim::tit {

// As bytes, a grammar is rule 0 and the end. An item is a varint: twice its code, plus 1 if it is
// followed by its exponent (2 or more) less 2. The code is 0 for the end of the rule; 1 for the
// terminal after the largest one so far; 2 for a new rule, whose items follow at once; else 3 +
// twice the number of a terminal, or 4 + twice the number of a rule. A rule must be complete before
// it is used again, so no rule can contain itself.
namespace {

constexpr std::uint64_t kRuleEnd = 0, kNextTerminal = 1, kNewRule = 2, kOld = 3;
constexpr std::uint64_t kMaxSequenceLength = std::uint64_t{1} << 63;  // exclusive
constexpr std::uint64_t kMaxRepeated = 0xffffffff;

// A position in a rule, from which an expansion continues.
struct PlaceInRule {
  std::uint32_t rule;
  std::size_t next;
};

void append_run(std::vector<Item>& items, Item item) {
  if (!items.empty() && items.back().symbol == item.symbol &&
      std::uint64_t{items.back().exponent} + item.exponent <= kMaxRepeated) {
    items.back().exponent += item.exponent;
  } else {
    items.push_back(item);
  }
}

}  // namespace

std::vector<std::uint32_t> Grammar::used_first() const {
  std::vector<std::uint32_t> order;
  std::vector<bool> met(rules.size());
  std::vector<PlaceInRule> path = {{0, 0}};
  met[0] = true;
  while (!path.empty()) {
    PlaceInRule& place = path.back();
    const std::vector<Item>& rule = rules[place.rule];
    if (place.next == rule.size()) {
      order.push_back(place.rule);
      path.pop_back();
      continue;
    }
    const Item item = rule[place.next++];
    if (!item.is_rule() || met[item.number()]) continue;
    met[item.number()] = true;
    path.push_back({item.number(), 0});
  }
  return order;
}

std::vector<std::uint64_t> Grammar::lengths() const {
  std::vector<std::uint64_t> length(rules.size(), 0);
  for (const std::uint32_t rule : used_first()) {
    for (const Item item : rules[rule]) {
      length[rule] += item.exponent * (item.is_rule() ? length[item.number()] : 1);
    }
  }
  return length;
}

std::size_t Grammar::depth() const {
  std::vector<std::size_t> depth(rules.size(), 1);
  for (const std::uint32_t rule : used_first()) {
    for (const Item item : rules[rule]) {
      if (item.is_rule()) depth[rule] = std::max(depth[rule], depth[item.number()] + 1);
    }
  }
  return depth[0];
}

std::size_t Grammar::items() const {
  std::size_t count = 0;
  for (const std::vector<Item>& rule : rules) count += rule.size();
  return count;
}

void Grammar::limit_depth(std::size_t most) {
  std::vector<std::size_t> depth(rules.size(), 1);
  bool changed = false;
  for (const std::uint32_t number : used_first()) {
    std::vector<Item> items;
    for (const Item item : rules[number]) {
      const std::size_t inner = item.is_rule() ? depth[item.number()] : 0;
      if (inner >= most && item.exponent == 1) {
        for (const Item part : rules[item.number()]) append_run(items, part);
        changed = true;
      } else {
        append_run(items, item);
      }
    }
    for (const Item item : items) {
      if (item.is_rule()) depth[number] = std::max(depth[number], depth[item.number()] + 1);
    }
    rules[number] = std::move(items);
  }
  if (changed) renumber();
}

void Grammar::renumber() {
  constexpr std::uint32_t kUnused = 0xffffffff;
  std::vector<std::uint32_t> number_of(rules.size(), kUnused);
  std::vector<std::uint32_t> kept = {0};
  std::vector<PlaceInRule> path = {{0, 0}};
  number_of[0] = 0;
  while (!path.empty()) {
    PlaceInRule& place = path.back();
    std::vector<Item>& rule = rules[place.rule];
    if (place.next == rule.size()) {
      path.pop_back();
      continue;
    }
    Item& item = rule[place.next++];
    if (!item.is_rule()) continue;
    const std::uint32_t old = item.number();
    const bool is_new = number_of[old] == kUnused;
    if (is_new) {
      number_of[old] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(old);
    }
    item.symbol = 2 * number_of[old] + 1;
    if (is_new) path.push_back({old, 0});
  }
  std::vector<std::vector<Item>> ordered;
  ordered.reserve(kept.size());
  for (const std::uint32_t old : kept) ordered.push_back(std::move(rules[old]));
  rules = std::move(ordered);
}

void Grammar::require_sound(std::size_t terminals) const {
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    if (rule > 0 && rules[rule].empty()) throw std::invalid_argument("a rule is empty");
    for (const Item& item : rules[rule]) {
      const std::size_t number = item.number();
      if (item.exponent == 0) {
        throw std::invalid_argument("an item of a grammar stands no times");
      }
      if (item.is_rule() ? number <= rule || number >= rules.size() : number >= terminals) {
        throw std::invalid_argument("a grammar has a symbol that is not there");
      }
    }
  }
}

std::vector<std::uint32_t> Grammar::expanded() const {
  struct Repeated {
    PlaceInRule place;
    std::uint32_t left;  // remaining repetitions of the rule here
  };
  std::vector<std::uint32_t> sequence;
  std::vector<Repeated> path = {{{0, 0}, 0}};
  while (!path.empty()) {
    Repeated& inner = path.back();
    const std::vector<Item>& rule = rules[inner.place.rule];
    if (inner.place.next == rule.size()) {
      inner.place.next = 0;
      if (inner.left == 0) {
        path.pop_back();
      } else {
        --inner.left;
      }
      continue;
    }
    const Item item = rule[inner.place.next++];
    if (item.is_rule()) {
      path.push_back({{item.number(), 0}, item.exponent - 1});
    } else {
      sequence.insert(sequence.end(), item.exponent, item.number());
    }
  }
  return sequence;
}

void Grammar::write(Bytes& out) const {
  std::uint32_t next_terminal = 0;
  std::uint32_t next_rule = 1;
  std::vector<PlaceInRule> path = {{0, 0}};
  while (!path.empty()) {
    PlaceInRule& place = path.back();
    const std::vector<Item>& rule = rules[place.rule];
    if (place.next == rule.size()) {
      out.varint(kRuleEnd);
      path.pop_back();
      continue;
    }
    const Item item = rule[place.next++];
    std::uint64_t kind = kOld + item.symbol;
    bool is_new = false;
    if (item.is_rule()) {
      is_new = item.number() == next_rule;
      if (is_new) kind = kNewRule;
    } else {
      if (item.number() == next_terminal) kind = kNextTerminal;
      next_terminal = std::max(next_terminal, item.number() + 1);
    }
    out.varint(2 * kind + (item.exponent > 1 ? 1 : 0));
    if (item.exponent > 1) out.varint(item.exponent - 2);
    if (is_new) path.push_back({next_rule++, 0});
  }
}

Grammar Grammar::read(ByteReader& in, std::uint32_t terminals) {
  struct Open {
    std::uint32_t rule;
    std::uint32_t times;
    std::uint64_t length;
    std::size_t depth;
  };
  Grammar grammar;
  std::vector<std::uint64_t> length = {0};  // of rules; 0 while a rule is incomplete
  std::vector<std::size_t> depth = {0};
  std::uint64_t next_terminal = 0;
  std::vector<Open> path = {{0, 1, 0, 1}};
  const auto lengthen = [](std::uint64_t& whole, std::uint64_t part, std::uint64_t times) {
    if (part > (kMaxSequenceLength - 1 - whole) / times)
      throw FormatError("a sequence of calls is too long");
    whole += part * times;
  };
  const auto deepen = [](Open& around, std::size_t inner) {
    if (inner >= kMaxGrammarDepth) throw FormatError("rules are nested too deeply");
    around.depth = std::max(around.depth, inner + 1);
  };
  for (;;) {
    const std::uint64_t code = in.varint();
    const std::uint64_t kind = code >> 1;
    std::uint32_t times = 1;
    if ((code & 1) != 0) {
      times = static_cast<std::uint32_t>(2 + in.at_most(kMaxRepeated - 2, "a repetition"));
    }
    Open& open = path.back();
    if (kind == kRuleEnd) {
      if (times != 1) throw FormatError("the end of a rule is repeated");
      const Open done = open;
      path.pop_back();
      length[done.rule] = done.length;
      depth[done.rule] = done.depth;
      if (path.empty()) return grammar;
      if (done.length == 0) throw FormatError("a rule is empty");
      lengthen(path.back().length, done.length, done.times);
      deepen(path.back(), done.depth);
      continue;
    }
    if (kind == kNewRule) {
      if (path.size() == kMaxGrammarDepth) throw FormatError("rules are nested too deeply");
      const auto number = static_cast<std::uint32_t>(grammar.rules.size());
      if (number == kMaxSymbols) throw FormatError("there are too many rules");
      grammar.rules[open.rule].push_back(Item::rule(number, times));
      grammar.rules.emplace_back();
      length.push_back(0);
      depth.push_back(0);
      path.push_back({number, times, 0, 1});
      continue;
    }
    const std::uint64_t symbol = kind == kNextTerminal ? 2 * next_terminal : kind - kOld;
    const std::uint64_t number = symbol >> 1;
    if ((symbol & 1) == 0) {
      if (number >= terminals) throw FormatError("a rule has an unknown call");
      next_terminal = std::max(next_terminal, number + 1);
      lengthen(open.length, 1, times);
    } else {
      if (number >= grammar.rules.size()) throw FormatError("a rule uses an unknown rule");
      if (length[number] == 0) throw FormatError("a rule contains itself");
      lengthen(open.length, length[number], times);
      deepen(open, depth[number]);
    }
    grammar.rules[open.rule].push_back({static_cast<std::uint32_t>(symbol), times});
  }
}

}  // namespace tisim::tit
