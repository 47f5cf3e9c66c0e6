// A sequence of calls as a grammar that produces it and nothing else, and its expansion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

// A terminal or a rule, some number of times in a row.
struct Item {
  std::uint32_t symbol;    // 2 * terminal, or 2 * rule + 1
  std::uint32_t exponent;  // at least 1

  bool is_rule() const { return (symbol & 1) != 0; }
  std::uint32_t number() const { return symbol >> 1; }
  static Item terminal(std::uint32_t number, std::uint32_t times = 1) {
    return {2 * number, times};
  }
  static Item rule(std::uint32_t number, std::uint32_t times = 1) {
    return {2 * number + 1, times};
  }
};

inline bool operator==(Item a, Item b) { return a.symbol == b.symbol && a.exponent == b.exponent; }
inline bool operator!=(Item a, Item b) { return !(a == b); }

// Terminals and rules are numbered from 0 to this, exclusive.
constexpr std::uint32_t kMostSymbols = std::uint32_t{1} << 31;
// Most rules around a terminal that read() accepts. A cursor keeps a frame for each.
constexpr std::size_t kDeepestGrammar = 128;

// Rule 0 is the sequence; it is the only one that may be empty. Rules have the numbers in which an
// expansion of rule 0 meets them first, so that equal structures are equal grammars.
struct Grammar {
  std::vector<std::vector<Item>> rules = {{}};

  // The numbers of all rules, each after those that it uses.
  std::vector<std::uint32_t> used_first() const;
  // How many terminals each rule stands for.
  std::vector<std::uint64_t> lengths() const;
  std::uint64_t length() const { return lengths()[0]; }
  // How many rules stand around each other at most: 1 for a sequence without rules.
  std::size_t depth() const;
  // All items of all rules.
  std::size_t items() const;
  // Spells rules out where they stand too deep. The sequence stays the same; deeper than `most`
  // are only rules that are repeated there, at most 63 levels.
  void limit_depth(std::size_t most);
  // Gives rules that were put together the numbers that they must have, and drops unused ones.
  void renumber();
  // Throws std::invalid_argument for a grammar that somebody else has made if a rule is empty, or
  // has a symbol that is not there: rules are made of terminals below `terminals` and of rules
  // behind them.
  void require_sound(std::size_t terminals) const;
  // The sequence itself; for tests and short sequences.
  std::vector<std::uint32_t> expanded() const;

  void write(Bytes& out) const;
  // Takes the grammar of a sequence of terminals below `terminals`. Throws FormatError for bytes
  // that are no grammar: an unknown symbol, a rule within itself, rules too deep, or a sequence of
  // 2^63 terminals and more. The grammar takes at most 40 bytes for each byte of `in`.
  static Grammar read(ByteReader& in, std::uint32_t terminals);
};

inline bool operator==(const Grammar& a, const Grammar& b) { return a.rules == b.rules; }
inline bool operator!=(const Grammar& a, const Grammar& b) { return !(a == b); }

// The calls of a grammar, one after the other, without unfolding it.

class Expansion {
 public:
  // `grammar` must outlive it.
  explicit Expansion(const Grammar& grammar) : grammar_(&grammar) { stack_.push_back({0, 0, 1}); }

  // The next terminal; false at the end.
  bool next(std::uint32_t& terminal) {
    if (repeats_ == 0 && !advance()) return false;
    --repeats_;
    terminal = terminal_;
    return true;
  }

 private:
  struct Frame {
    std::uint32_t rule;
    std::uint32_t at;
    std::uint64_t left;
  };

  bool advance() {
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const std::vector<Item>& rule = grammar_->rules[frame.rule];
      if (frame.at == rule.size()) {
        if (--frame.left == 0) {
          stack_.pop_back();
        } else {
          frame.at = 0;
        }
        continue;
      }
      const Item item = rule[frame.at++];
      if (!item.is_rule()) {
        terminal_ = item.number();
        repeats_ = item.exponent;
        return true;
      }
      stack_.push_back({item.number(), 0, item.exponent});
    }
    return false;
  }

  const Grammar* grammar_;
  std::vector<Frame> stack_;
  std::uint64_t repeats_ = 0;
  std::uint32_t terminal_ = 0;
};

}  // namespace tisim::tit
