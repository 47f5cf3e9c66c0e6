#include "timeline/span_sums.hpp"

#include <algorithm>

namespace tisim {

SpanSums::SpanSums(double begin, double end, std::size_t lanes, std::size_t parts, std::size_t keys)
    : begin_(begin),
      end_(end),
      width_((end - begin) / static_cast<double>(parts)),
      lanes_(lanes),
      parts_(parts),
      keys_(keys),
      sums_(lanes * parts * keys) {}

std::size_t SpanSums::part_of(double time) const {
  if (time <= begin_ || width_ <= 0.0) return 0;
  return std::min(static_cast<std::size_t>((time - begin_) / width_), parts_ - 1);
}

void SpanSums::add(const Spans& spans) {
  for (std::size_t i = 0; i < spans.start.size(); ++i) {
    const auto lane = static_cast<std::size_t>(spans.lane[i]);
    const auto key = static_cast<std::size_t>(spans.key[i]);
    if (spans.lane[i] < 0 || spans.key[i] < 0 || lane >= lanes_ || key >= keys_) continue;
    const double start = spans.start[i];
    const double stop = spans.end[i];
    if (stop < begin_ || start > end_) continue;
    if (stop > start && (stop == begin_ || start == end_)) continue;
    const double from = std::max(start, begin_);
    const double to = std::min(stop, end_);
    const double density = stop > start ? spans.seconds[i] / (stop - start) : 0.0;
    const auto longest = static_cast<float>(spans.longest[i]);
    Sum* row = &sums_[lane * parts_ * keys_ + key];
    const std::size_t first = part_of(from);
    const std::size_t last = part_of(to);
    for (std::size_t part = first; part <= last; ++part) {
      const double left = begin_ + width_ * static_cast<double>(part);
      const double right = part == last ? to : std::min(to, left + width_);
      const double length = right - std::max(from, left);
      if (length <= 0.0 && part != first) continue;
      Sum& sum = row[part * keys_];
      sum.seconds += static_cast<float>(std::max(length, 0.0) * density);
      sum.longest = std::max(sum.longest, longest);
    }
    // A state counts where it ends; one that ends at the border counts before it.
    const bool ends_here = stop <= end_ && (stop > begin_ || (begin_ <= 0.0 && stop >= begin_));
    if (!ends_here) continue;
    const std::size_t before =
        last > first && begin_ + width_ * static_cast<double>(last) >= to ? last - 1 : last;
    row[before * keys_].count += static_cast<std::uint32_t>(spans.count[i]);
  }
}

std::vector<SpanSums::Cell> SpanSums::cells() const {
  std::vector<Cell> cells;
  for (std::size_t part = 0; part < parts_; ++part) {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const Sum* row = &sums_[(lane * parts_ + part) * keys_];
      for (std::size_t key = 0; key < keys_; ++key) {
        const Sum& sum = row[key];
        if (sum.count == 0 && sum.seconds <= 0.0F) continue;
        cells.push_back({static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(lane),
                         static_cast<std::uint32_t>(key), sum.seconds, sum.longest, sum.count});
      }
    }
  }
  return cells;
}

}  // namespace tisim
