#include "timeline/critical_path.hpp"

#include <stdexcept>

namespace tisim {

// The state of `rank_` that ended at `time_`.
const StateRow& CriticalPath::find() {
  if (time_ == sought_) {
    next_ = start_;  // a transfer without duration leads to another rank at the same time
  } else {
    start_ = next_;
    sought_ = time_;
  }
  while (next_ > 0) {
    const StateRow& row = states_[--next_];
    if (row.rank == rank_ && row.end == time_) return row;
  }
  throw std::logic_error("the states of a rank do not tile its time");
}

std::vector<PathPart> CriticalPath::take(std::size_t count) {
  std::vector<PathPart> parts;
  while (time_ > 0.0 && parts.size() < count) {
    const StateRow& row = find();
    PathPart part{row.start, row.end, 0, row.rank, row.rank, row.line, row.state, row.kind};
    if (row.peer >= 0) {
      part.start = row.started;
      part.bytes = row.bytes;
      part.source = row.receives != 0 ? row.peer : row.rank;
      part.destination = row.receives != 0 ? row.rank : row.peer;
      part.state = static_cast<std::uint8_t>(State::transfer);
      if (row.by_peer != 0) rank_ = row.peer;
    }
    time_ = part.start;
    if (part.start < part.end) parts.push_back(part);
  }
  return parts;
}

}  // namespace tisim
