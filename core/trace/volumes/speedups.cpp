#include "trace/volumes/speedups.hpp"

#include <utility>

namespace tisim {

double CallPlaces::enter(const Speedups& speedups, std::string_view file, std::string_view line) {
  const std::string_view name = file.substr(file.find_last_of('/') + 1);
  const std::string before = std::exchange(place_, std::string(name).append(":").append(line));
  const std::string whole = std::exchange(whole_place_, std::string(file).append(":").append(line));
  auto found = speedups.find(before + ":" + place_);
  if (found == speedups.end()) found = speedups.find(whole + ":" + whole_place_);
  return found == speedups.end() ? 1.0 : found->second;
}

// The flops of a reduction belong to its call.
void SpeedupStream::apply(Op* ops, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Op& op = ops[i];
    if (op.kind == Kind::nop && (op.flags & kHasLocation) != 0) {
      const Call& call = (*calls_)[static_cast<std::uint32_t>(op.call)];
      speedup_ = places_.enter(*speedups_, call.words[0], call.words[1]);
      op.flags &= static_cast<std::uint8_t>(~kHasLocation);
      op.bytes = 0;
    } else if (op.kind == Kind::compute && (op.flags & kContinuation) == 0) {
      op.amount /= speedup_;
    }
  }
}

}  // namespace tisim
