#include "trace/tit/grammar/loop_cursor.hpp"

namespace tisim {
namespace tit {

bool LoopCursor::start(const Sequitur& grammar) {
  path_.clear();
  if (grammar.empty()) return false;
  const Item loop = grammar.item(grammar.last());
  if (!loop.is_rule() || loop.exponent < 2) return false;
  repetitions_ = 0;
  path_.push_back({grammar.last(), 1});
  enter(grammar.first_of(loop.number()), grammar);
  return true;
}

// Goes down to the first terminal of an item.
void LoopCursor::enter(Sequitur::NodeId node, const Sequitur& grammar) {
  for (;;) {
    const Item item = grammar.item(node);
    path_.push_back({node, item.exponent});
    if (!item.is_rule()) {
      expected_ = item.number();
      run_left_ = item.exponent;
      return;
    }
    node = grammar.first_of(item.number());
  }
}

// From a terminal that was passed, with all its repetitions, to the next one.
void LoopCursor::go_on(const Sequitur& grammar) {
  for (;;) {
    const Sequitur::NodeId next = grammar.next_of(path_.back().node);
    path_.pop_back();
    if (grammar.is_item(next)) return enter(next, grammar);
    Frame& around = path_.back();
    const std::uint32_t rule = grammar.item(around.node).number();
    if (path_.size() == 1) {
      ++repetitions_;
      return enter(grammar.first_of(rule), grammar);
    }
    if (--around.left > 0) return enter(grammar.first_of(rule), grammar);
  }
}

std::vector<Item> LoopCursor::passed(const Sequitur& grammar) const {
  std::vector<Item> items;
  for (std::size_t level = 1; level < path_.size(); ++level) {
    const Item around = grammar.item(path_[level - 1].node);
    Sequitur::NodeId node = grammar.first_of(around.number());
    for (; node != path_[level].node; node = grammar.next_of(node)) {
      items.push_back(grammar.item(node));
    }
    Item partly = grammar.item(node);
    partly.exponent -= partly.is_rule() ? path_[level].left : run_left_;
    if (partly.exponent > 0) items.push_back(partly);
  }
  return items;
}

}  // namespace tit
}  // namespace tisim
