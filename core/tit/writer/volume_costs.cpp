#include "tit/writer/volume_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tit/writer/number_table.hpp"

namespace tisim {
namespace tit {

namespace {

constexpr double kBitsPerColumn = 160;
constexpr double kBitsPerSite = 40;
// What a value in a column takes at least. All ranks share the models of columns: where each rank
// has one volume only, others have other ones.
constexpr double kLeastBitsPerValue = 1;

// A number for two numbers below 2^32; its low bits are as good as random.
std::uint64_t pair_of(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t both = ((a << 32) | b) * 0x9e3779b97f4a7c15U;
  return both ^ (both >> 32);
}

}  // namespace

bool measure_volumes(const RankPart& part, std::size_t most_distinct, VolumeCosts& costs) {
  costs.column_bits = kBitsPerColumn;
  constexpr std::uint64_t kSampled = 8;  // one pair of so many is counted
  NumberTable volumes;
  NumberTable contexts;
  NumberTable uses;  // of a volume in a context
  NumberTable pairs;
  std::vector<std::uint64_t> counts;  // of uses
  std::vector<std::uint64_t> totals;  // of contexts
  std::uint64_t before = 0;
  std::uint64_t waiting = 0;
  std::uint64_t last_context = ~std::uint64_t{0};
  std::uint32_t context = 0;
  std::uint64_t last_use = 0;
  for (std::size_t i = 0; i < part.steps(); ++i) {
    if (part.is_volume(i)) {
      waiting = volumes.number(part.volume_of(i)) + std::uint64_t{1};
      if (volumes.size() > most_distinct) return false;
      continue;
    }
    const std::uint64_t at = part.call_of(i) + std::uint64_t{1};
    const std::uint64_t key = (before << 32) | at;
    if (key != last_context) context = contexts.number(key);
    last_context = key;
    before = at;
    if (context == totals.size()) totals.push_back(0);
    ++totals[context];
    const std::uint64_t use = uses.number((std::uint64_t{context} << 32) | waiting);
    if (use == counts.size()) counts.push_back(0);
    ++counts[use];
    waiting = 0;
    const std::uint64_t pair = pair_of(last_use, use);
    if (last_use != use && pair % kSampled == 0) pairs.number(pair);
    last_use = use;
  }
  std::vector<std::uint32_t> uses_of(totals.size(), 0);
  for (const std::uint64_t key : uses.keys()) ++uses_of[static_cast<std::size_t>(key >> 32)];
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint64_t use = uses.keys()[i];
    const auto of = static_cast<std::size_t>(use >> 32);
    const bool is_nothing = static_cast<std::uint32_t>(use) == 0;
    if (uses_of[of] == 1 && is_nothing) continue;
    const auto times = static_cast<double>(counts[i]);
    const double bits = std::log2(static_cast<double>(totals[of]) / times);
    costs.column_bits += times * std::max(bits, kLeastBitsPerValue) + kBitsPerVolume;
  }
  for (const std::uint32_t count : uses_of) costs.column_bits += count > 1 ? kBitsPerSite : 0;
  // A volume with its call is a rule of two items where it comes again; behind one another they
  // are items of rules wherever they do so for the first time.
  costs.grammar_items = static_cast<double>(pairs.size() * kSampled + 2 * counts.size());
  costs.distinct = volumes.size();
  return true;
}

}  // namespace tit
}  // namespace tisim
