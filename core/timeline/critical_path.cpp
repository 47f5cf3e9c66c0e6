#include "timeline/critical_path.hpp"

#include <algorithm>
#include <stdexcept>

namespace tisim {

StatePaths::StatePaths(std::span<const StateRow> states, std::size_t ranks)
    : states_(states), rows_(states.size()), first_(ranks + 1) {
  if (states.size() >= kNone) throw std::length_error("too many states to follow paths through");
  for (const StateRow& row : states) {
    if (row.rank < 0 || static_cast<std::size_t>(row.rank) >= ranks || row.state >= kStates)
      throw std::invalid_argument("a state is of no rank, or unknown");
    ++first_[static_cast<std::size_t>(row.rank) + 1];
  }
  for (std::size_t rank = 1; rank < first_.size(); ++rank) first_[rank] += first_[rank - 1];
  std::vector<std::uint32_t> next = first_;
  for (std::uint32_t row = 0; row < states.size(); ++row)
    rows_[next[static_cast<std::size_t>(states[row].rank)]++] = row;
}

StatePaths::Node StatePaths::at(std::int32_t rank, double time) const {
  if (rank < 0 || static_cast<std::size_t>(rank) + 1 >= first_.size() || time <= 0.0)
    return {kNone, time};
  const std::uint32_t* const begin = rows_.data() + first_[static_cast<std::size_t>(rank)];
  const std::uint32_t* const end = rows_.data() + first_[static_cast<std::size_t>(rank) + 1];
  const auto* const after = std::upper_bound(
      begin, end, time, [&](double t, std::uint32_t row) { return t < states_[row].end; });
  if (after != end && states_[*after].start < time)
    return {static_cast<std::uint32_t>(after - rows_.data()), time};
  if (after == begin) return {kNone, time};
  return {static_cast<std::uint32_t>(after - rows_.data() - 1), states_[*(after - 1)].end};
}

StatePaths::Node StatePaths::previous(std::uint32_t place) const {
  const StateRow& row = state_at(place);
  if (place == first_[static_cast<std::size_t>(row.rank)]) return {kNone, row.start};
  return {place - 1, row.start};
}

StatePaths::Node StatePaths::step(Node node, PathPart& part) const {
  const StateRow& row = state_at(node.place);
  part = {row.start, node.end, 0, row.rank, row.rank, row.line, row.state, row.kind};
  if (row.peer >= 0 && node.end == row.end) {
    part.bytes = row.bytes;
    part.source = row.receives != 0 ? row.peer : row.rank;
    part.destination = row.receives != 0 ? row.rank : row.peer;
    part.state = static_cast<std::uint8_t>(State::transfer);
    if (row.started != kNoTime) {
      part.start = row.started;
      return at(row.by_peer != 0 ? row.peer : row.rank, part.start);
    }
  }
  if (is_wait(row)) {
    part.start = node.end;
    return at(row.cause, node.end);
  }
  return previous(node.place);
}

std::vector<PathPart> StatePaths::path(std::int32_t rank, double time) const {
  std::vector<PathPart> parts;
  // Ranks may wait for one another at the same time. Such a cycle returns to the place marked after
  // 1, 2, 4... steps without a part (Brent).
  std::uint32_t marked = kNone;
  std::size_t steps = 0, most = 1;
  for (Node node = at(rank, time); !node.is_none();) {
    PathPart part;
    if (node.place == marked) {
      const StateRow& row = state_at(node.place);  // decided by the previous states of its rank
      part = {row.start, node.end, 0, row.rank, row.rank, row.line, row.state, row.kind};
      node = previous(node.place);
    } else {
      if (steps++ == most) {
        marked = node.place;
        most *= 2;
        steps = 0;
      }
      node = step(node, part);
    }
    if (part.start >= part.end) continue;
    parts.push_back(part);
    marked = kNone;
    steps = 0;
    most = 1;
  }
  return parts;
}

}  // namespace tisim
