#include "trace/tit/grammar/sequence_encoder.hpp"

#include <algorithm>
#include <vector>

namespace tisim {
namespace tit {

void SequenceEncoder::add_all(const std::uint32_t* terminals, std::size_t size) {
  const std::uint32_t* at = terminals;
  const std::uint32_t* const end = terminals + size;
  while (at != end) {
    const std::uint64_t before = cursor_.repetitions();
    add(*at++);
    if (!cursor_.active() || cursor_.repetitions() <= before) continue;
    // The cursor stands before a repetition again.
    const std::uint64_t length = (length_ - loop_start_) / cursor_.repetitions();
    if (length > static_cast<std::uint64_t>(at - terminals)) continue;
    const auto once = static_cast<std::ptrdiff_t>(length);
    for (; end - at >= once && std::equal(at - once, at, at); at += once) {
      cursor_.repeat();
      length_ += length;
    }
  }
}

void SequenceEncoder::add_to_run(std::uint32_t terminal) {
  const Item one = Item::terminal(terminal);
  if (run_.exponent > 0 && run_.symbol == one.symbol && run_.exponent < 0xffffffff) {
    ++run_.exponent;
    return;
  }
  end_run();
  if (!enter_loop(terminal)) run_ = one;
}

void SequenceEncoder::end_run() {
  if (run_.exponent == 0) return;
  grammar_.append(run_);
  run_.exponent = 0;
}

bool SequenceEncoder::enter_loop(std::uint32_t terminal) {
  if (!cursor_.start(grammar_)) return false;
  loop_start_ = length_ - 1;
  if (cursor_.pass(terminal, grammar_)) return true;
  cursor_.stop();
  return false;
}

// The grammar gets what the cursor has passed. The rules in it are held: each item that is added
// may otherwise end the use of a rule that comes later.
void SequenceEncoder::leave_loop() {
  const std::vector<Item> rest = cursor_.passed(grammar_);
  const std::uint64_t repetitions = cursor_.repetitions();
  cursor_.stop();
  for (const Item item : rest) {
    if (item.is_rule()) grammar_.hold(item.number());
  }
  if (repetitions > 0) grammar_.repeat_last(repetitions);
  for (const Item item : rest) {
    if (!item.is_rule()) {
      end_run();
      run_ = item;
      continue;
    }
    end_run();
    grammar_.append(item);
    grammar_.release(item.number());
  }
}

Grammar SequenceEncoder::take() {
  if (cursor_.active()) leave_loop();
  end_run();
  Grammar grammar = grammar_.grammar();
  grammar_.clear();
  length_ = 0;
  return grammar;
}

Grammar SequenceEncoder::so_far() const {
  SequenceEncoder copy(*this);
  return copy.take();
}

}  // namespace tit
}  // namespace tisim
