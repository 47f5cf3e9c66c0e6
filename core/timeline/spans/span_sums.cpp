#include "timeline/spans/span_sums.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
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
  for (const Found& state : found_) ++chunk.offsets[static_cast<std::size_t>(state.rank) + 1];
  for (std::size_t rank = 0; rank < until_.size(); ++rank) {
    if (chunk.offsets[rank + 1] > 0) chunk.begin = std::min(chunk.begin, chunk.begins[rank]);
    chunk.offsets[rank + 1] += chunk.offsets[rank];
  }
  std::vector<std::int32_t> next(chunk.offsets.begin(), chunk.offsets.end() - 1);
  chunk.ends.resize(found_.size());
  chunk.keys.resize(found_.size());
  for (const Found& state : found_) {
    const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(state.rank)]++);
    chunk.ends[place] = state.end;
    chunk.keys[place] = state.key;
    chunk.end = std::max(chunk.end, state.end);
  }
  begins_.clear();
  found_.clear();
  return chunk;
}

void LaneTable::append(const Row& row) {
  part.push_back(row.part);
  key.push_back(row.key);
  seconds.push_back(row.seconds);
  longest.push_back(row.longest);
  count.push_back(row.count);
}

LaneTable LaneTable::halved() const {
  LaneTable coarse;
  coarse.offsets.push_back(0);
  for (std::size_t lane = 0; lane + 1 < offsets.size(); ++lane) {
    const auto stop = static_cast<std::size_t>(offsets[lane + 1]);
    auto at = static_cast<std::size_t>(offsets[lane]);
    while (at < stop) {
      // At most two parts become one: merge their keys.
      const std::uint32_t whole = part[at] / 2;
      std::size_t second = at;
      while (second < stop && part[second] == part[at]) ++second;
      const std::size_t middle = second;
      std::size_t end = second;
      while (end < stop && part[end] / 2 == whole) ++end;
      while (at < middle || second < end) {
        const bool both = at < middle && second < end && key[at] == key[second];
        const bool is_first = second == end || (at < middle && key[at] <= key[second]);
        Row sum = row(is_first ? at : second);
        sum.part = whole;
        if (both) {
          sum.seconds += seconds[second];
          sum.longest = std::max(sum.longest, longest[second]);
          sum.count += count[second];
        }
        coarse.append(sum);
        if (both || is_first) ++at;
        if (both || !is_first) ++second;
      }
      at = end;
    }
    coarse.offsets.push_back(static_cast<std::int32_t>(coarse.part.size()));
  }
  return coarse;
}

namespace {

// The index range of a lane's rows in the columns of a table.
std::pair<std::size_t, std::size_t> rows_of(std::int32_t lane,
                                            std::span<const std::int32_t> offsets,
                                            std::size_t size) {
  const auto at = static_cast<std::size_t>(lane);
  if (lane < 0 || at + 1 >= offsets.size()) throw std::out_of_range("there is no such lane");
  const auto first = offsets[at];
  const auto stop = offsets[at + 1];
  if (first < 0 || first > stop || static_cast<std::size_t>(stop) > size) {
    throw std::out_of_range("a lane lies outside its table");
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(stop)};
}

}  // namespace

SpanSums::SpanSums(double begin, double end, std::size_t lanes, std::size_t parts, std::size_t keys)
    : begin_(begin),
      end_(end),
      width_((end - begin) / static_cast<double>(parts)),
      parts_a_second_(width_ > 0.0 ? 1.0 / width_ : 0.0),
      lanes_(lanes),
      parts_(parts),
      keys_(keys),
      blocks_(parts / kBlock + 1),
      sums_(lanes * parts * keys),
      block_sums_(lanes * blocks_ * keys) {}

std::size_t SpanSums::part_of(double time) const {
  if (time <= begin_) return 0;
  return std::min(static_cast<std::size_t>((time - begin_) * parts_a_second_), parts_ - 1);
}

void SpanSums::add(const WeightedSpan& span, std::size_t lane, std::size_t key) {
  const double start = span.start;
  const double stop = span.end;
  if (stop < begin_ || start > end_) return;
  if (stop > start && (stop == begin_ || start == end_)) return;
  const double from = std::max(start, begin_);
  const double to = std::min(stop, end_);
  const double density = stop > start ? span.seconds / (stop - start) : 0.0;
  const auto longest = static_cast<float>(span.longest);
  Sum* row = &sums_[lane * parts_ * keys_ + key];
  const std::size_t first = part_of(from);
  const std::size_t last = part_of(to);
  const bool is_long = last - first > 2 * kBlock;
  if (is_long) {
    add_whole(first + 1, last, static_cast<float>(width_ * density), longest, lane, key);
  }
  for (std::size_t part = first; part <= last; part = is_long && part == first ? last : part + 1) {
    const double left = begin_ + width_ * static_cast<double>(part);
    const double right = part == last ? to : std::min(to, left + width_);
    const double length = right - std::max(from, left);
    if (length <= 0.0 && part != first) continue;
    Sum& sum = row[part * keys_];
    sum.seconds += static_cast<float>(std::max(length, 0.0) * density);
    sum.longest = std::max(sum.longest, longest);
  }
  // A state is counted where it ends; one that ends at a border is counted before it.
  const bool ends_here = stop <= end_ && (stop > begin_ || (begin_ <= 0.0 && stop >= begin_));
  if (!ends_here) return;
  const std::size_t before =
      last > first && begin_ + width_ * static_cast<double>(last) >= to ? last - 1 : last;
  row[before * keys_].count += span.count;
}

void SpanSums::add_whole(std::size_t first, std::size_t stop, float seconds, float longest,
                         std::size_t lane, std::size_t key) {
  const auto add_to = [seconds, longest](Sum& sum) {
    sum.seconds += seconds;
    sum.longest = std::max(sum.longest, longest);
  };
  Sum* row = &sums_[lane * parts_ * keys_ + key];
  Sum* blocks = &block_sums_[lane * blocks_ * keys_ + key];
  const std::size_t first_block = (first + kBlock - 1) / kBlock;
  const std::size_t last_block = stop / kBlock;
  for (std::size_t part = first; part < first_block * kBlock; ++part) add_to(row[part * keys_]);
  for (std::size_t at = first_block; at < last_block; ++at) add_to(blocks[at * keys_]);
  for (std::size_t part = last_block * kBlock; part < stop; ++part) add_to(row[part * keys_]);
}

SpanSums::Sum SpanSums::sum_of(std::size_t part, std::size_t lane, std::size_t key) const {
  return joined(sums_[(lane * parts_ + part) * keys_ + key],
                block_sums_[(lane * blocks_ + part / kBlock) * keys_ + key]);
}

void SpanSums::add(const Spans& spans) {
  for (std::size_t i = 0; i < spans.start.size(); ++i) {
    const auto lane = static_cast<std::size_t>(spans.lane[i]);
    const auto key = static_cast<std::size_t>(spans.key[i]);
    if (spans.lane[i] < 0 || spans.key[i] < 0 || lane >= lanes_ || key >= keys_) continue;
    add({spans.start[i], spans.end[i], spans.seconds[i], spans.longest[i],
         static_cast<std::uint32_t>(spans.count[i])},
        lane, key);
  }
}

void SpanSums::add(const StateSpans& states, const LaneSelection& wanted) {
  for (std::size_t i = 0; i < wanted.from.size(); ++i) {
    const auto lane = static_cast<std::size_t>(wanted.to[i]);
    const auto [first, stop] = rows_of(wanted.from[i], states.offsets, states.ends.size());
    if (lane >= lanes_) throw std::out_of_range("there is no such lane");
    const double* ends = states.ends.data();
    const double* from = std::lower_bound(ends + first, ends + stop, begin_);
    for (auto at = static_cast<std::size_t>(from - ends); at < stop; ++at) {
      const double start =
          at == first ? states.begins[static_cast<std::size_t>(wanted.from[i])] : ends[at - 1];
      if (start > end_) break;
      const std::int32_t key = wanted.key[states.keys[at]];
      if (key < 0 || static_cast<std::size_t>(key) >= keys_) continue;
      const double seconds = ends[at] - start;
      add({start, ends[at], seconds, seconds, 1}, lane, static_cast<std::size_t>(key));
    }
  }
}

void SpanSums::add(const LaneCells& cells, double parts, double end, const LaneSelection& wanted,
                   std::span<const double> scale) {
  const double before = begin_ / end * parts - 2.0;  // too early to matter, whatever the rounding
  for (std::size_t i = 0; i < wanted.from.size(); ++i) {
    const auto lane = static_cast<std::size_t>(wanted.to[i]);
    const auto [first, stop] = rows_of(wanted.from[i], cells.offsets, cells.part.size());
    if (lane >= lanes_) throw std::out_of_range("there is no such lane");
    const std::uint32_t* part = cells.part.data();
    const auto* from = std::lower_bound(part + first, part + stop, before);
    for (auto at = static_cast<std::size_t>(from - part); at < stop; ++at) {
      const double start = part[at] / parts * end;
      if (start > end_) break;
      const std::int32_t key = wanted.key[cells.key[at]];
      if (key < 0 || static_cast<std::size_t>(key) >= keys_) continue;
      add({start, (part[at] + 1.0) / parts * end,
           static_cast<double>(cells.seconds[at]) * scale[lane],
           static_cast<double>(cells.longest[at]), cells.count[at]},
          lane, static_cast<std::size_t>(key));
    }
  }
}

std::vector<SpanSums::Cell> SpanSums::cells() const {
  // The sums are read in memory order, twice: first to determine where the cells of a part begin.
  std::vector<std::size_t> next(parts_ + 1);
  const auto for_each = [this](const auto& visit) {
    const Sum* sum = sums_.data();
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const Sum* of_blocks = &block_sums_[lane * blocks_ * keys_];
      for (std::size_t part = 0; part < parts_; ++part) {
        const Sum* of_block = of_blocks + part / kBlock * keys_;
        for (std::size_t key = 0; key < keys_; ++key, ++sum) {
          const Sum whole = joined(*sum, of_block[key]);
          if (!whole.is_empty()) visit(part, lane, key, whole);
        }
      }
    }
  };
  for_each([&next](std::size_t part, auto, auto, const Sum&) { ++next[part + 1]; });
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Cell> cells(next.back());
  for_each([&](std::size_t part, std::size_t lane, std::size_t key, const Sum& sum) {
    cells[next[part]++] = {static_cast<std::uint32_t>(part),
                           static_cast<std::uint32_t>(lane),
                           static_cast<std::uint32_t>(key),
                           sum.seconds,
                           sum.longest,
                           sum.count};
  });
  return cells;
}

LaneTable SpanSums::by_lane(std::uint32_t first, std::span<const SpanKey> keys) const {
  LaneTable table;
  table.offsets.push_back(0);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    for (std::size_t part = 0; part < parts_; ++part) {
      for (std::size_t key = 0; key < keys_; ++key) {
        const Sum sum = sum_of(part, lane, key);
        if (sum.is_empty()) continue;
        table.append({first + static_cast<std::uint32_t>(part), keys[key], sum.seconds, sum.longest,
                      sum.count});
      }
    }
    table.offsets.push_back(static_cast<std::int32_t>(table.part.size()));
  }
  return table;
}

std::vector<std::uint32_t> order_by_rank(std::string_view rows, std::size_t row_size,
                                         std::size_t rank_at, std::size_t ranks) {
  const std::size_t count = rows.size() / row_size;
  const auto rank_of = [rows, row_size, rank_at, ranks](std::size_t row) {
    std::int32_t rank = 0;
    std::memcpy(&rank, rows.data() + row * row_size + rank_at, sizeof rank);
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks) {
      throw std::out_of_range("a record of no known rank");
    }
    return static_cast<std::size_t>(rank);
  };
  std::vector<std::uint32_t> order(count);
  std::vector<std::uint32_t> next(ranks + 1);
  for (std::size_t row = 0; row < count; ++row) ++next[rank_of(row) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::size_t row = 0; row < count; ++row) {
    order[next[rank_of(row)]++] = static_cast<std::uint32_t>(row);
  }
  return order;
}

}  // namespace tisim
