#include "timeline/spans/lane_cells.hpp"

#include <algorithm>

namespace tisim {

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
      // Two parts at most become one: their keys are merged.
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

}  // namespace tisim
