// The second operation of a line for which a batch had no room.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// Takes the room of a pointer: there may be a million readers, and few have one.
class LeftOverOp {
 public:
  void leave(const Op& op) { op_ = std::make_unique<const Op>(op); }

  // The number of operations taken: 1 if there is one and room for it.
  std::size_t take(Op* out, std::size_t capacity) {
    if (!op_ || capacity == 0) return 0;
    *out = *std::exchange(op_, nullptr);
    return 1;
  }

 private:
  std::unique_ptr<const Op> op_;
};

}  // namespace tisim
