#include "trace/tit/column/histogram.hpp"

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
  if (is_dense(span, values.size())) {
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

Histogram::Histogram(std::uint64_t low, const std::uint32_t* counts, std::size_t size) {
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < size; ++i) distinct += counts[i] > 0 ? 1 : 0;
  counts_.reserve(distinct);
  for (std::size_t i = 0; i < size; ++i) {
    if (counts[i] == 0) continue;
    counts_.push_back({low + i, counts[i]});
    total_ += counts[i];
  }
}

Histogram Histogram::sum(const Histogram& a, const Histogram& b) {
  Histogram both;
  both.counts_.reserve(a.counts_.size() + b.counts_.size());
  auto its = a.counts_.begin();
  for (const ValueCount& other : b.counts_) {
    for (; its != a.counts_.end() && its->value < other.value; ++its) both.counts_.push_back(*its);
    both.counts_.push_back(other);
    if (its != a.counts_.end() && its->value == other.value) {
      both.counts_.back().count += (its++)->count;
    }
  }
  both.counts_.insert(both.counts_.end(), its, a.counts_.end());
  both.total_ = a.total_ + b.total_;
  return both;
}

}  // namespace tit
}  // namespace tisim
