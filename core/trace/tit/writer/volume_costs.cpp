#include "trace/tit/writer/volume_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trace/tit/writer/number_table.hpp"
#include "trace/tit/writer/volume_set.hpp"

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

// Numbers for pairs of calls, one behind the other, by first use.
class ContextTable {
 public:
  // The calls have numbers from 1 to `calls`.
  explicit ContextTable(std::size_t calls) : calls_(calls + 1) {
    constexpr std::size_t kMostEntries = std::size_t{1} << 14;
    if (calls_ * calls_ <= kMostEntries) known_.assign(calls_ * calls_, 0);
  }

  std::uint32_t number(std::uint64_t before, std::uint64_t at) {
    const std::uint64_t key = before * calls_ + at;
    if (known_.empty()) return others_.number(key);
    std::uint32_t& next = known_[static_cast<std::size_t>(key)];
    if (next == 0) next = ++size_;
    return next - 1;
  }

 private:
  std::size_t calls_;
  std::vector<std::uint32_t> known_;  // the number plus 1, or 0; empty where it would be large
  std::uint32_t size_ = 0;
  NumberTable others_;
};

// Whether there are more than so many different volumes.
bool has_more_distinct(const RankPart& part, std::size_t most, VolumeSet& volumes) {
  for (const std::uint64_t volume : part.all_volumes()) {
    volumes.add(volume);
    if (volumes.size() > most) return true;
  }
  return false;
}

// Volumes in contexts, numbered by first use. The first contexts have a table each.
class UseTable {
 public:
  struct Use {
    std::uint32_t context;
    bool is_nothing;  // no volume
    std::uint64_t times;
  };

  // Volumes are numbers up to `volumes`, 0 is none; so many uses will be counted. `cells`: memory
  // for its tables.
  UseTable(std::size_t volumes, std::size_t times, std::vector<std::uint32_t>& cells)
      : width_(volumes + 1), most_cells_(kCellsPerUse * times), cells_(cells) {
    cells_.clear();
  }

  // The number of a use, which occurs once more. Contexts come in ascending order for the first
  // time.
  std::uint32_t count(std::uint32_t context, std::uint64_t volume) {
    const std::uint32_t number = number_of(context, volume);
    ++uses_[number].times;
    return number;
  }

  const std::vector<Use>& uses() const { return uses_; }

 private:
  static constexpr std::size_t kCellsPerUse = 16;

  std::uint32_t number_of(std::uint32_t context, std::uint64_t volume) {
    const std::size_t cell = context * width_ + static_cast<std::size_t>(volume);
    if (cell >= cells_.size() && !add_context(context)) {
      const std::uint32_t place = others_.number((std::uint64_t{context} << 32) | volume);
      if (place == number_of_other_.size()) number_of_other_.push_back(add(context, volume) - 1);
      return number_of_other_[place];
    }
    std::uint32_t& next = cells_[cell];
    if (next == 0) next = add(context, volume);
    return next - 1;
  }
  bool add_context(std::uint32_t context) {
    const std::size_t cells = (context + std::size_t{1}) * width_;
    if (cells > most_cells_) return false;
    cells_.resize(cells, 0);
    return true;
  }
  std::uint32_t add(std::uint32_t context, std::uint64_t volume) {
    uses_.push_back({context, volume == 0, 0});
    return static_cast<std::uint32_t>(uses_.size());
  }

  std::size_t width_;
  std::size_t most_cells_;
  std::vector<std::uint32_t>& cells_;  // the number plus 1 of each volume in each context, or 0
  NumberTable others_;
  std::vector<std::uint32_t> number_of_other_;
  std::vector<Use> uses_;
};

}  // namespace

bool measure_volumes(const RankPart& part, const CallList& calls, std::size_t most_distinct,
                     VolumeTables& tables, VolumeCosts& costs) {
  costs.column_bits = kBitsPerColumn;
  constexpr std::uint64_t kSampled = 8;  // one pair of so many is counted
  VolumeSet volumes(part.volumes());
  if (has_more_distinct(part, most_distinct, volumes)) return false;
  volumes.number();
  ContextTable contexts(part.calls().size() + 1);
  UseTable uses(volumes.size(), calls.size(), tables.uses);
  NumberTable& pairs = tables.pairs;
  pairs.clear();
  std::vector<std::uint64_t> totals;  // of contexts
  std::uint64_t before = 0;
  std::uint64_t last_use = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::uint32_t call = calls.calls()[i];
    if (call == calls.silence()) continue;
    const std::uint64_t at = call + std::uint64_t{1};
    const std::uint32_t context = contexts.number(before, at);
    before = at;
    if (context == totals.size()) totals.push_back(0);
    ++totals[context];
    const std::uint64_t use = uses.count(context, volumes.place_of(calls.volumes()[i]));
    const std::uint64_t pair = pair_of(last_use, use);
    if (last_use != use && pair % kSampled == 0) pairs.number(pair);
    last_use = use;
  }
  std::vector<std::uint32_t> uses_of(totals.size(), 0);
  for (const UseTable::Use& use : uses.uses()) ++uses_of[use.context];
  for (const UseTable::Use& use : uses.uses()) {
    if (uses_of[use.context] == 1 && use.is_nothing) continue;
    const auto times = static_cast<double>(use.times);
    const double bits = std::log2(static_cast<double>(totals[use.context]) / times);
    costs.column_bits += times * std::max(bits, kLeastBitsPerValue) + kBitsPerVolume;
  }
  for (const std::uint32_t count : uses_of) costs.column_bits += count > 1 ? kBitsPerSite : 0;
  // A volume with its call is a rule of two items where it comes again; behind one another they
  // are items of rules wherever they do so for the first time.
  costs.grammar_items = static_cast<double>(pairs.size() * kSampled + 2 * uses.uses().size());
  costs.distinct = volumes.size();
  constexpr std::size_t kMostKept = std::size_t{1} << 22;  // as much as a long trace's ranks need
  if (tables.uses.capacity() > kMostKept) tables.uses = {};
  return true;
}

}  // namespace tit
}  // namespace tisim
