#include "timeline/run_file/span_file.hpp"

#include <stdexcept>

namespace tisim {

namespace {

template <class Value>
std::string_view column_bytes(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

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
  const std::array<std::string_view, 1> columns = {column_bytes(chunk.begins)};
  const std::array<std::string_view, 2> fields = {column_bytes(chunk.ends),
                                                  column_bytes(chunk.keys)};
  const auto places = file_.write(columns, chunk.offsets, fields);
  batches_.push_back(
      {chunk.begin, chunk.end, chunk.ends.size(), {places[0], places[1], places[2], places[3]}});
}

void SpanFile::finish() {
  if (states_.size() > 0) write();
  file_.finish();
}

StateSpans SpanFile::states(const Batch& batch, std::string_view file) const {
  const auto& [begins, offsets, ends, keys] = batch.places;
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

}  // namespace tisim
