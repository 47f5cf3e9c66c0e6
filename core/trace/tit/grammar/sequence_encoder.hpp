// Turns a sequence of terminals into a grammar, as they come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/grammar/loop_cursor.hpp"
#include "trace/tit/grammar/sequitur.hpp"

namespace tisim {
namespace tit {

// Runs of a terminal and repetitions of the last loop are counted; the grammar sees them when they
// end. So a loop takes the same space, and almost the same time, however often it is repeated.
class SequenceEncoder {
 public:
  void add(std::uint32_t terminal) {
    ++length_;
    if (cursor_.active()) {
      if (cursor_.pass(terminal, grammar_)) return;
      leave_loop();
      if (run_.exponent == 0 && enter_loop(terminal)) return;
    }
    add_to_run(terminal);
  }

  // The same for many. Repetitions of a loop are compared with one another as a whole.
  void add_all(const std::uint32_t* terminals, std::size_t size);

  std::uint64_t length() const { return length_; }
  // The grammar of what was added; the encoder is empty then.
  Grammar take();
  // The same, but the encoder goes on. It may be larger than what take() would give by the last
  // repetition of the last loop.
  Grammar so_far() const;
  // How many items the grammar has so far.
  std::size_t items() const { return grammar_.items(); }
  // Bytes, apart from the encoder itself.
  std::size_t memory() const { return grammar_.memory() + cursor_.memory(); }
  // What is broken, or an empty text.
  const char* verify() const { return grammar_.verify(); }

 private:
  void add_to_run(std::uint32_t terminal);
  void end_run();
  bool enter_loop(std::uint32_t terminal);
  void leave_loop();

  Sequitur grammar_;
  LoopCursor cursor_;
  Item run_ = {0, 0};  // the last terminals, equal ones, which the grammar lacks; exponent 0: none
  std::uint64_t length_ = 0;
  std::uint64_t loop_start_ = 0;  // the length when the cursor was started
};

}  // namespace tit
}  // namespace tisim
