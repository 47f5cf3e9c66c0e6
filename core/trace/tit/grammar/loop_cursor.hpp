// Follows the repetitions of a loop at the end of a grammar, without a change to the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/grammar/sequitur.hpp"

namespace tisim {
namespace tit {

// Stands in the last item of a sequence, a repeated rule, before the terminal with which one more
// repetition goes on. The grammar is the same in all calls, and may
// not change while the cursor stands there.
class LoopCursor {
 public:
  bool active() const { return !path_.empty(); }
  // Whether the sequence ends with a repeated rule; if so the cursor stands at its start.
  bool start(const Sequitur& grammar);
  void stop() { path_.clear(); }

  // Passes this terminal if it is the next one.
  bool pass(std::uint32_t terminal, const Sequitur& grammar) {
    if (expected_ != terminal) return false;
    if (--run_left_ == 0) go_on(grammar);
    return true;
  }

  // Passes a whole repetition; the cursor stands where one begins.
  void repeat() { ++repetitions_; }

  // Repetitions that were passed completely, and the items passed since.
  std::uint64_t repetitions() const { return repetitions_; }
  std::vector<Item> passed(const Sequitur& grammar) const;
  std::size_t memory() const { return path_.capacity() * sizeof(Frame); }

 private:
  // An item, and how many of its repetitions are not passed, with the one that the cursor is in.
  struct Frame {
    Sequitur::NodeId node;
    std::uint32_t left;
  };

  void enter(Sequitur::NodeId node, const Sequitur& grammar);
  void go_on(const Sequitur& grammar);

  std::vector<Frame> path_;     // the loop itself, then an item of each rule down to a terminal
  std::uint32_t expected_ = 0;  // the terminal
  std::uint32_t run_left_ = 0;  // how often it stands there still
  std::uint64_t repetitions_ = 0;
};

}  // namespace tit
}  // namespace tisim
