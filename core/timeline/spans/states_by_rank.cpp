#include "timeline/spans/states_by_rank.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tisim {

void StatesByRank::add(const StateRow& row) {
  if (found_.empty()) begins_ = until_;
  const auto rank = static_cast<std::size_t>(row.rank);
  if (row.rank < 0 || rank >= until_.size()) throw std::out_of_range("a state of no known rank");
  if (row.start > until_[rank]) found_.push_back({row.start, row.rank, kNoState});
  found_.push_back({row.end, row.rank, static_cast<SpanKey>(row.state << 8 | row.kind)});
  until_[rank] = std::max(row.end, until_[rank]);
}

StatesByRank::Chunk StatesByRank::take() {
  Chunk chunk;
  if (found_.empty()) begins_ = until_;
  chunk.begins = std::move(begins_);
  chunk.offsets.resize(until_.size() + 1);
  for (const Found& one : found_) ++chunk.offsets[static_cast<std::size_t>(one.rank) + 1];
  for (std::size_t rank = 0; rank < until_.size(); ++rank) {
    if (chunk.offsets[rank + 1] > 0) chunk.begin = std::min(chunk.begin, chunk.begins[rank]);
    chunk.offsets[rank + 1] += chunk.offsets[rank];
  }
  std::vector<std::int32_t> next(chunk.offsets.begin(), chunk.offsets.end() - 1);
  chunk.ends.resize(found_.size());
  chunk.keys.resize(found_.size());
  for (const Found& one : found_) {
    const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(one.rank)]++);
    chunk.ends[place] = one.end;
    chunk.keys[place] = one.key;
    chunk.end = std::max(chunk.end, one.end);
  }
  begins_.clear();
  found_.clear();
  return chunk;
}

}  // namespace tisim
