// Sorts entries by a number in decreasing order; stable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tisim {

using NumberedPlace = std::pair<std::uint64_t, std::size_t>;

// Sorts indices instead of entries, so that all entry types share one function: each stable sort of
// a larger type is 5 to 15 kB of code and takes the compiler half a second.
inline void sort_largest_first(std::vector<NumberedPlace>& places) {
  std::sort(places.begin(), places.end(), [](const NumberedPlace& a, const NumberedPlace& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
}

// Keeps the `most` largest entries.
template <class Entry, class Number>
void keep_largest(std::vector<Entry>& entries, std::size_t most, Number number) {
  std::vector<NumberedPlace> places;
  places.reserve(entries.size());
  for (const Entry& entry : entries) places.emplace_back(number(entry), places.size());
  sort_largest_first(places);
  if (places.size() > most) places.resize(most);
  std::vector<Entry> kept;
  kept.reserve(places.size());
  for (const NumberedPlace& place : places) kept.push_back(std::move(entries[place.second]));
  entries = std::move(kept);
}

}  // namespace tisim
