// Operations of a line for which a batch had no room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// Occupies a single pointer: there may be a million readers, and few have pending operations.
class PendingOps {
 public:
  // Writes operations of a line to `out`, keeping those that do not fit. Returns the number
  // written.
  std::size_t put(const Op* ops, std::size_t count, Op* out, std::size_t capacity) {
    const std::size_t fit = std::min(count, capacity);
    std::copy(ops, ops + fit, out);
    if (fit < count) ops_ = std::make_unique<std::vector<Op>>(ops + fit, ops + count);
    return fit;
  }

  // Moves pending operations to `out`. Returns their number, at most `capacity`.
  std::size_t take(Op* out, std::size_t capacity) {
    if (!ops_ || capacity == 0) return 0;
    const std::unique_ptr<std::vector<Op>> left = std::move(ops_);
    return put(left->data(), left->size(), out, capacity);
  }

 private:
  std::unique_ptr<std::vector<Op>> ops_;
};

}  // namespace tisim
