#include "timeline/density.hpp"

#include <algorithm>
#include <stdexcept>

#include "timeline/state_file.hpp"

namespace tisim {

std::vector<float> state_density(const std::string& states, double begin, double end,
                                 std::size_t bins, std::span<const std::int32_t> groups,
                                 std::size_t count) {
  std::vector<float> seconds(count * bins * kStates);
  const double width = (end - begin) / static_cast<double>(bins);
  const auto bin_of = [&](double time) {
    return std::min(static_cast<std::size_t>((time - begin) / width), bins - 1);
  };
  StateFile file(states);
  for (std::int64_t i = 0; i < file.size(); ++i) {
    const StateRow& row = file[i];
    const double from = std::max(row.start, begin);
    const double to = std::min(row.end, end);
    if (from >= to) continue;
    const auto rank = static_cast<std::size_t>(row.rank);
    if (rank >= groups.size()) throw std::out_of_range("a state of a rank without a group");
    const auto group = static_cast<std::size_t>(groups[rank]);
    const std::size_t last = bin_of(to);
    for (std::size_t bin = bin_of(from); bin <= last; ++bin) {
      const double left = std::max(from, begin + width * static_cast<double>(bin));
      const double right =
          bin == last ? to : std::min(to, begin + width * static_cast<double>(bin + 1));
      if (right > left) {
        seconds[(group * bins + bin) * kStates + row.state] += static_cast<float>(right - left);
      }
    }
  }
  return seconds;
}

}  // namespace tisim
