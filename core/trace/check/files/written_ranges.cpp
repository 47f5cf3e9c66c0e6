#include "trace/check/files/written_ranges.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tisim {

namespace {

using Range = WrittenRanges::Range;

// Two ranges that have a byte in common, of different ranks.
struct Overlap {
  Range first;
  Range second;
};

std::optional<Overlap> first_overlap(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.rank) < std::pair(b.begin, b.rank);
  });
  // Of the ranges so far the one that ends last, and that of another rank.
  Range last;
  Range other;
  for (const Range& range : ranges) {
    const Range& before = range.rank == last.rank ? other : last;
    if (range.begin < before.end) return Overlap{before, range};
    if (range.end <= last.end) {
      if (range.rank != last.rank && range.end > other.end) other = range;
      continue;
    }
    if (range.rank != last.rank) other = last;
    last = range;
  }
  return std::nullopt;
}

}  // namespace

std::int32_t WrittenRanges::file(const std::string& name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

void WrittenRanges::add(const Interval& interval, const Range& range) {
  if (range.begin >= range.end || count_ >= kMost) return;
  std::vector<Range>& ranges = ranges_[interval];
  if (!ranges.empty() && ranges.back().rank == range.rank && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
    return;
  }
  ranges.push_back(range);
  ++count_;
}

void WrittenRanges::report(const TraceSet& set, Findings& findings) const {
  std::int32_t reported = -1;  // intervals of a file are neighbours
  for (const auto& [interval, ranges] : ranges_) {
    if (interval.file == reported) continue;
    const std::optional<Overlap> overlap = first_overlap(ranges);
    if (!overlap) continue;
    reported = interval.file;
    const auto& [first, second] = *overlap;
    findings.add(
        {Severity::warning, second.rank, set.file(second.rank), second.line,
         "writes bytes " + std::to_string(second.begin) + " to " +
             std::to_string(std::min(first.end, second.end) - 1) + " of '" +
             names_[static_cast<std::size_t>(interval.file)] + "', which rank " +
             std::to_string(first.rank) + " writes too (line " + std::to_string(first.line) +
             "), and nothing that all ranks wait for stands between: whose data remain depends on "
             "time"});
  }
}

}  // namespace tisim
