#include "timeline/wait_causes.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tisim {

namespace {

// Maximum number of steps of a path: keeps the time for a run proportional to its waits.
constexpr int kMaxSteps = 4096;

}  // namespace

std::uint32_t WaitCauses::place_of(std::uint32_t row) const {
  return is_wait(states_[row]) ? place_in_rank(row) : StatePaths::kNone;
}

std::uint32_t WaitCauses::place_in_rank(std::uint32_t row) const {
  const StateRow& state = states_[row];
  // Several states of length 0 may end at once.
  for (auto node = paths_.at(state.rank, state.end); !node.is_none();
       node = paths_.previous(node.place))
    if (paths_.row_at(node.place) == row) return node.place;
  return StatePaths::kNone;
}

void WaitCauses::walk(std::uint32_t place, std::vector<Part>& parts) const {
  const StateRow& wait = paths_.state_at(place);
  parts.clear();
  StatePaths::Node late{place, wait.end};
  StatePaths::Node own = paths_.previous(place);
  for (int steps = 0; late.place != own.place && steps < kMaxSteps; ++steps) {
    const bool is_late = own.is_none() || (!late.is_none() && late.end >= own.end);
    StatePaths::Node& node = is_late ? late : own;
    const std::uint32_t row = paths_.row_at(node.place);
    PathPart part;
    node = paths_.step(node, part);
    if (part.start < part.end) parts.push_back({part.end - part.start, row, part.state, is_late});
  }
  // In the same state, or diverged too long ago: the rest of the longer path.
  const double rest = late.end - own.end;
  if (rest == 0.0) return;
  const std::uint32_t row =
      late.place == own.place && !late.is_none() ? paths_.row_at(late.place) : StatePaths::kNone;
  const std::uint8_t state = row == StatePaths::kNone ? 0 : states_[row].state;
  parts.push_back({std::abs(rest), row, state, rest > 0.0});
}

// Computes the shares of the parts found by walk().
void WaitCauses::explain(Scratch& scratch) {
  scratch.shares.clear();
  std::vector<Part>& parts = scratch.parts;
  // Parts in the same state cancel: in order of length, each is paired with the nearest shorter one
  // of the other path.
  std::vector<Length>& order = scratch.order;
  order.clear();
  for (std::uint32_t i = 0; i < parts.size(); ++i)
    order.push_back({parts[i].seconds, i, parts[i].state});
  std::ranges::sort(order, [](const Length& x, const Length& y) {
    return std::tie(x.state, x.seconds, x.part) < std::tie(y.state, y.seconds, y.part);
  });
  std::vector<std::uint32_t>& open = scratch.open;
  open.clear();
  for (const Length& length : order) {
    Part& part = parts[length.part];
    if (!open.empty() && parts[open.back()].state != part.state) open.clear();
    if (open.empty() || parts[open.back()].is_late == part.is_late) {
      open.push_back(length.part);
      continue;
    }
    part.seconds -= parts[open.back()].seconds;
    parts[open.back()].seconds = 0.0;
    open.pop_back();
  }
  // The surplus of the waiting rank removes the smallest of the remaining parts. Most parts have
  // cancelled, so few are sorted again.
  double spared = 0.0;
  order.clear();
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    spared += parts[i].is_late ? 0.0 : parts[i].seconds;
    if (parts[i].is_late && parts[i].seconds > 0.0)
      order.push_back({parts[i].seconds, i, parts[i].state});
  }
  std::ranges::sort(order, [](const Length& x, const Length& y) {
    return std::pair(x.seconds, y.part) < std::pair(y.seconds, x.part);
  });
  for (const Length& length : order) {
    if (spared == 0.0) break;
    const double taken = std::min(spared, length.seconds);
    parts[length.part].seconds -= taken;
    spared -= taken;
  }
  for (const Part& part : parts)
    if (part.is_late && part.seconds > 0.0)
      scratch.shares.push_back({part.row, part.state, part.seconds});
}

std::vector<CauseShare> WaitCauses::of(std::uint32_t row) const {
  Scratch scratch;
  const std::uint32_t place = place_of(row);
  if (place == StatePaths::kNone) return {};
  walk(place, scratch.parts);
  explain(scratch);
  return scratch.shares;
}

std::vector<std::uint32_t> WaitCauses::late_path(std::uint32_t row) const {
  std::vector<std::uint32_t> rows;
  const std::uint32_t place = place_of(row);
  if (place == StatePaths::kNone) return rows;
  std::vector<Part> parts;
  walk(place, parts);
  for (const Part& part : parts) {
    if (!part.is_late || part.row == StatePaths::kNone || part.row == row) continue;
    rows.push_back(part.row);
    const StatePaths::Node before = paths_.previous(place_in_rank(part.row));
    if (part.state == static_cast<std::uint8_t>(State::transfer) && !before.is_none() &&
        is_wait(paths_.state_at(before.place)))
      rows.push_back(paths_.row_at(before.place));
  }
  return rows;
}

CauseSums WaitCauses::sums() const {
  CauseSums sums;
  sums.by_row.resize(states_.size());
  sums.by_rank.resize(paths_.ranks() * static_cast<std::size_t>(kStates));
  Scratch scratch;
  for (std::uint32_t place = 0; place < paths_.size(); ++place) {
    const StateRow& wait = paths_.state_at(place);
    if (!is_wait(wait)) continue;
    walk(place, scratch.parts);
    explain(scratch);
    for (const CauseShare& share : scratch.shares) {
      if (share.row == StatePaths::kNone) continue;
      sums.by_row[share.row].add(wait.rank, share.seconds);
      sums.explained.push_back({share.row, paths_.row_at(place), share.seconds});
      const auto of = static_cast<std::size_t>(states_[share.row].rank);
      sums.by_rank[of * static_cast<std::size_t>(kStates) + share.state].add(wait.rank,
                                                                             share.seconds);
    }
  }
  return sums;
}

}  // namespace tisim
