#include "tit/writer/computed_volumes.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "tit/file/volume_code.hpp"

namespace tisim {
namespace tit {

namespace {

// Before a call, 0 is no volume and other values are 1 plus its code; the volume of a call that is
// itself a computation is a zigzag, as all arguments are.
constexpr std::uint64_t kNoVolume = 0;

// What stands for each value at a site.
using Replacements = std::unordered_map<std::uint64_t, std::uint64_t>;

Replacements replacements_of(const std::unordered_map<std::uint64_t, std::uint64_t>& counts,
                             bool is_before_call, const Precision& precision) {
  // Larger volumes do not fit into a decimal of a representative.
  constexpr double kLargest = 9e14;
  const bool is_mean = precision.level == Precision::Level::mean;
  const auto volume_of = [&](std::uint64_t value) {
    if (!is_before_call) return volume_value(value >> 1);
    return value == kNoVolume ? 0.0 : volume_value(value - 1);
  };
  std::vector<double> volumes;
  bool all_fit = true;
  for (const auto& entry : counts) {
    if (is_before_call && entry.first == kNoVolume && !is_mean) continue;
    const double volume = volume_of(entry.first);
    all_fit = all_fit && volume <= kLargest;
    volumes.insert(volumes.end(), static_cast<std::size_t>(entry.second), volume);
  }
  if (volumes.empty() || !all_fit) return {};
  const Representatives representatives(std::move(volumes), precision);
  Replacements made;
  for (const auto& entry : counts) {
    if (is_before_call && entry.first == kNoVolume && !is_mean) continue;
    const Decimal* const representative = representatives.of(volume_of(entry.first));
    if (representative == nullptr) continue;
    const std::uint64_t code = volume_code(representative->text());
    if (code == kNoVolumeCode) return {};
    made.emplace(entry.first, is_before_call ? code + 1 : code << 1);
  }
  return made;
}

}  // namespace

void reduce_volumes(const Precision& precision, const TraceTables& tables, const SiteWalk& walk,
                    const RankPlaces& places, std::vector<RankValues>& values) {
  struct VolumeSite {
    bool is_before_call = true;
    std::unordered_map<std::uint64_t, std::uint64_t> counts;  // of each value
    Replacements replacements;
  };
  std::vector<bool> computes(tables.kinds_count, false);
  for (std::size_t i = 0; i < tables.signatures.size(); ++i) {
    if (tables.signatures[i].shape == kComputeShape) computes[tables.kinds[i]] = true;
  }
  std::unordered_map<std::uint64_t, VolumeSite> sites;
  const std::uint64_t width = std::uint64_t{tables.kinds_count} + 1;
  // Calls `take(value, site)` for each volume of a computation.
  const auto for_each_volume = [&](RankValues& rank, auto take) {
    auto value = rank.values.begin();
    walk.for_each(places.class_of[rank.rank], [&](std::uint32_t before, std::uint32_t at,
                                                  std::uint32_t place, bool is_volume) {
      std::uint64_t& here = *value++;
      if (!is_volume || (place > 0 && !computes[at])) return;
      VolumeSite& site = sites[(std::uint64_t{before} * width + at) * 2 + (place > 0 ? 1 : 0)];
      site.is_before_call = place == 0;
      take(here, site);
    });
  };
  for (RankValues& rank : values) {
    for_each_volume(rank, [](std::uint64_t value, VolumeSite& site) { ++site.counts[value]; });
  }
  for (auto& entry : sites) {
    VolumeSite& site = entry.second;
    site.replacements = replacements_of(site.counts, site.is_before_call, precision);
  }
  for (RankValues& rank : values) {
    rank.volumes = 0;
    for_each_volume(rank, [&](std::uint64_t& value, VolumeSite& site) {
      const auto found = site.replacements.find(value);
      if (found != site.replacements.end()) value = found->second;
      if (site.is_before_call && value != kNoVolume) ++rank.volumes;
    });
  }
}

}  // namespace tit
}  // namespace tisim
