// How Parquet stores columns of numbers that repeat themselves or follow one another.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "timeline/formats/text.hpp"

namespace tisim {

// Numbers of `bits` bits each, with runs of the same number once ("RLE"): also levels of
// definition, which say where a column has no value.
void write_hybrid(Text& to, std::span<const std::uint32_t> values, unsigned bits);

// Differences from one number to the next ("DELTA_BINARY_PACKED"). Numbers are bit patterns, signed
// or not: differences wrap around.
void write_deltas(Text& to, std::span<const std::uint32_t> values);
void write_deltas(Text& to, std::span<const std::uint64_t> values);

// The distinct values of a column, and which of them each row has.
template <class Value>
class Distinct {
 public:
  // Whether there are at most `most`; else what is found is of no use.
  bool find(std::span<const Value> rows, std::size_t most);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<std::uint32_t>& places() const { return places_; }
  unsigned bits() const {
    return std::max(1U, static_cast<unsigned>(std::bit_width(values_.size() - 1)));
  }

 private:
  static constexpr std::uint32_t kFree = ~0U;
  std::vector<Value> values_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> slots_;  // a hash table of places in `values_`
};

template <class Value>
bool Distinct<Value>::find(std::span<const Value> rows, std::size_t most) {
  const auto log_slots = static_cast<int>(std::bit_width(2 * std::min(most, rows.size() + 1)));
  slots_.assign(std::size_t{1} << log_slots, kFree);
  const std::size_t mask = slots_.size() - 1;
  values_.clear();
  places_.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Value value = rows[row];
    if (row > 0 && value == rows[row - 1]) {
      places_[row] = places_[row - 1];
      continue;
    }
    const std::uint64_t hash = std::uint64_t{value} * 0x9e3779b97f4a7c15U;
    auto slot = static_cast<std::size_t>(hash >> (64 - log_slots));
    while (slots_[slot] != kFree && values_[slots_[slot]] != value) slot = (slot + 1) & mask;
    if (slots_[slot] == kFree) {
      if (values_.size() == most) return false;
      slots_[slot] = static_cast<std::uint32_t>(values_.size());
      values_.push_back(value);
    }
    places_[row] = slots_[slot];
  }
  return !rows.empty();
}

}  // namespace tisim
