// Which requests a recorded waitany or waitsome completes, where it is left open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "trace/reader.hpp"
#include "trace/requests/completion_group.hpp"
#include "trace/vocabulary/call.hpp"

namespace tisim {

// Decorates a reader. The calls of a group of which nothing depends (CompletionGroup) list all of
// its requests and take what is complete, and the last one waits for what is left. Other calls
// complete what they completed when they were recorded.
class FreeCompletionsReader final : public ReaderDecorator {
 public:
  // `calls`, those of the reader, must outlive this.
  FreeCompletionsReader(std::unique_ptr<RankReader> reader, CallTable& calls)
      : ReaderDecorator(std::move(reader)), calls_(calls) {}

  std::size_t read(Op* out, std::size_t capacity) override;

 private:
  bool read_more();
  void open();

  CallTable& calls_;
  CompletionGroup group_;
  std::deque<Op> held_;      // operations that were read
  std::size_t settled_ = 0;  // the first so many of them are as they are to be
};

}  // namespace tisim
