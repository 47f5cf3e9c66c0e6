#include "trace/archive/free_completions.hpp"

#include <algorithm>
#include <array>

namespace tisim {

std::size_t FreeCompletionsReader::read(Op* out, std::size_t capacity) {
  std::size_t made = 0;
  while (made < capacity && (settled_ > 0 || read_more())) {
    const std::size_t count = std::min(settled_, capacity - made);
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(held_.begin(), end, out + made);
    held_.erase(held_.begin(), end);
    settled_ -= count;
    made += count;
  }
  return made;
}

// Returns false at the end of the trace. Groups that decide or never close stay as recorded.
bool FreeCompletionsReader::read_more() {
  constexpr std::size_t kBatch = 64;
  std::array<Op, kBatch> ops;
  const std::size_t count = decorated().read(ops.data(), ops.size());
  for (std::size_t i = 0; i < count; ++i) {
    const CompletionGroup::Effect effect = group_.take(ops[i], calls_);
    if (effect.decided > 0) settled_ = held_.size();
    held_.push_back(ops[i]);
    if (effect.closes) open();
    if (!group_.is_open()) settled_ = held_.size();
  }
  if (count == 0) settled_ = held_.size();
  return settled_ > 0 || count > 0;
}

void FreeCompletionsReader::open() {
  Call all;
  all.operation = Operation::requests;
  all.arguments = group_.listed();
  const std::uint32_t call = calls_.intern(all);
  for (std::size_t i = settled_; i < held_.size(); ++i) {
    Op& op = held_[i];
    const bool is_last = i + 1 == held_.size();
    if (!is_last && !is_recorded_choice(op.kind)) continue;
    op.call = call;
    if (is_last) continue;
    op.kind = op.kind == Kind::waitany_recorded ? Kind::waitany : Kind::waitsome;
  }
}

}  // namespace tisim
