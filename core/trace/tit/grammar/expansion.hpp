// The calls of a grammar, one after the other, without unfolding it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"

namespace tisim {
namespace tit {

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

}  // namespace tit
}  // namespace tisim
