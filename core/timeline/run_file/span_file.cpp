#include "timeline/run_file/span_file.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "timeline/spans/span_sums.hpp"

namespace tisim {

namespace {

template <class Value>
std::span<const Value> column_in(std::string_view file, std::size_t place, std::size_t count) {
  if (place > file.size() || count > (file.size() - place) / sizeof(Value)) {
    throw std::out_of_range("a column lies outside its file");
  }
  return {reinterpret_cast<const Value*>(file.data() + place), count};
}

}  // namespace

SpanFile::SpanFile(std::size_t ranks, std::size_t full)
    : states_(ranks),
      full_(full),
      has_key_(kSpanKeys),
      file_({{"begin", true, sizeof(double)}}, "states",
            {{"end", true, sizeof(double)}, {"key", false, sizeof(SpanKey)}}) {}

void SpanFile::write() {
  const StatesByRank::Chunk chunk = states_.take();
  for (const SpanKey key : chunk.keys) has_key_[key] = true;
  const std::array<std::string_view, 1> columns = {bytes_of(chunk.begins)};
  const std::array<std::string_view, 2> fields = {bytes_of(chunk.ends), bytes_of(chunk.keys)};
  const ListFile::Offsets at = file_.write(columns, chunk.offsets, fields);
  batches_.push_back({chunk.begin, chunk.end, chunk.ends.size(), {at[0], at[1], at[2], at[3]}});
}

void SpanFile::finish() {
  if (states_.size() > 0) write();
  file_.finish();
}

StateSpans SpanFile::states(const Batch& batch, std::string_view file) const {
  const auto& [begins, offsets, ends, keys] = batch.offsets;
  return {
      column_in<double>(file, begins, ranks()), column_in<std::int32_t>(file, offsets, ranks() + 1),
      column_in<double>(file, ends, batch.states), column_in<SpanKey>(file, keys, batch.states)};
}

std::vector<SpanKey> SpanFile::keys() const {
  std::vector<SpanKey> keys;
  for (std::size_t key = 0; key < kNoState; ++key) {
    if (has_key_[key]) keys.push_back(static_cast<SpanKey>(key));
  }
  return keys;
}

LevelFile::LevelFile()
    : file_({}, "cells",
            {{"part", false, sizeof(std::uint32_t)},
             {"key", false, sizeof(SpanKey)},
             {"seconds", true, sizeof(float)},
             {"longest", true, sizeof(float)},
             {"count", false, sizeof(std::uint32_t)}}) {}

void LevelFile::sum(const SpanFile& spans, std::string_view file, const LevelStrip& strip) {
  const std::vector<SpanKey> keys = spans.keys();
  std::vector<std::int32_t> places(kSpanKeys, -1);
  for (std::size_t i = 0; i < keys.size(); ++i) places[keys[i]] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> ranks(spans.ranks());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::int32_t> lanes = ranks;
  for (std::int32_t& lane : lanes) lane /= static_cast<std::int32_t>(strip.group);

  const auto time_of = [&strip](std::size_t part) {
    return strip.end * static_cast<double>(part) / static_cast<double>(strip.parts);
  };
  const double begin = time_of(strip.first);
  const double stop = time_of(strip.first + strip.count);
  const std::size_t count = (spans.ranks() + strip.group - 1) / strip.group;
  SpanSums sums(begin, stop, count, strip.count, keys.size());
  for (const SpanFile::Batch& batch : spans.batches()) {
    if (batch.end < begin || batch.begin > stop) continue;
    sums.add(spans.states(batch, file), LaneSelection{ranks, lanes, places});
  }
  cells_ = sums.by_lane(static_cast<std::uint32_t>(strip.first), keys);
}

std::size_t LevelFile::write() {
  const std::array<std::string_view, 5> fields = {bytes_of(cells_.part), bytes_of(cells_.key),
                                                  bytes_of(cells_.seconds),
                                                  bytes_of(cells_.longest), bytes_of(cells_.count)};
  file_.write({}, cells_.offsets, fields);
  return file_.batches() - 1;
}

}  // namespace tisim
