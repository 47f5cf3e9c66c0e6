// A sequence of calls as a grammar that produces exactly this sequence, and its expansion.
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

// Exclusive upper bound on the numbers of terminals and rules.
constexpr std::uint32_t kMaxSymbols = std::uint32_t{1} << 31;
// Maximum nesting depth of rules that read() accepts. A cursor needs a frame per level.
constexpr std::size_t kMaxGrammarDepth = 128;

// Rule 0 is the sequence; only it may be empty. Rules are numbered in the order in which an
// expansion of rule 0 reaches them, so that equal structures are equal grammars.
struct Grammar {
  std::vector<std::vector<Item>> rules = {{}};

  // The numbers of all rules, each after those it uses.
  std::vector<std::uint32_t> used_first() const;
  // The number of terminals that each rule expands to.
  std::vector<std::uint64_t> lengths() const;
  std::uint64_t length() const { return lengths()[0]; }
  // Maximum nesting depth of rules: 1 for a sequence without rules.
  std::size_t depth() const;
  // Total number of items in all rules.
  std::size_t items() const;
  // Expands rules that are nested too deeply. The sequence stays the same; only rules that are
  // repeated in place may be deeper than `most`, by at most 63 levels.
  void limit_depth(std::size_t most);
  // Renumbers assembled rules in the required order, and drops unused ones.
  void renumber();
  // For a grammar from a caller: throws std::invalid_argument if a rule is empty or has an invalid
  // symbol; items must be terminals below `terminals` or rules with larger numbers.
  void require_sound(std::size_t terminals) const;
  // The sequence itself; for tests and short sequences.
  std::vector<std::uint32_t> expanded() const;

  void write(Bytes& out) const;
  // Reads the grammar of a sequence of terminals below `terminals`. Throws FormatError for bytes
  // that are not a grammar: an unknown symbol, a rule within itself, rules nested too deeply, or a
  // sequence of 2^63 or more terminals. The grammar takes at most 40 bytes per byte of `in`.
  static Grammar read(ByteReader& in, std::uint32_t terminals);
};

inline bool operator==(const Grammar& a, const Grammar& b) { return a.rules == b.rules; }
inline bool operator!=(const Grammar& a, const Grammar& b) { return !(a == b); }

// Iterates over the calls of a grammar without expanding it.

class Expansion {
 public:
  // `grammar` must outlive it.
  explicit Expansion(const Grammar& grammar) : grammar_(&grammar) { stack_.push_back({0, 0, 1}); }

  // Returns the next terminal; false at the end.
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
