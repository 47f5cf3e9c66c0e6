// Leaves open which requests a recorded waitany or waitsome completes, where nothing depends on it.
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

// Decorates a reader. The calls of a group on whose order nothing depends (CompletionGroup) list
// all of its requests and take those that are complete; the last call waits for the rest. Other
// calls complete the recorded requests.
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
  std::deque<Op> held_;      // operations read
  std::size_t settled_ = 0;  // number of leading operations that are final
};

}  // namespace tisim
