#include "tit/column/histogram.hpp"

#include <algorithm>
#include <utility>

namespace tisim {
namespace tit {

Histogram::Histogram(std::vector<std::uint64_t> values) : total_(values.size()) {
  if (values.empty()) return;
  const auto range = std::minmax_element(values.begin(), values.end());
  const std::uint64_t low = *range.first;
  const std::uint64_t span = *range.second - low;
  // Numbers that lie close together are counted in a table, which is faster than to sort them.
  constexpr std::uint64_t kDense = 4;
  if (span / kDense < values.size()) {
    std::vector<std::uint64_t> table(static_cast<std::size_t>(span) + 1, 0);
    for (const std::uint64_t value : values) ++table[static_cast<std::size_t>(value - low)];
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i] > 0) counts_.push_back({low + i, table[i]});
    }
    return;
  }
  std::sort(values.begin(), values.end());
  for (const std::uint64_t value : values) {
    if (counts_.empty() || counts_.back().value != value) counts_.push_back({value, 0});
    ++counts_.back().count;
  }
}

void Histogram::add(const Histogram& other) {
  std::vector<ValueCount> both;
  both.reserve(counts_.size() + other.counts_.size());
  auto mine = counts_.begin();
  for (const ValueCount& its : other.counts_) {
    for (; mine != counts_.end() && mine->value < its.value; ++mine) both.push_back(*mine);
    both.push_back(its);
    if (mine != counts_.end() && mine->value == its.value) both.back().count += (mine++)->count;
  }
  both.insert(both.end(), mine, counts_.end());
  counts_ = std::move(both);
  total_ += other.total_;
}

}  // namespace tit
}  // namespace tisim
