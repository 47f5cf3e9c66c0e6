#include "trace/tit/writer/computed_volumes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/volume_code.hpp"

namespace tisim {
namespace tit {

namespace {

// Before a call, 0 is no volume and other values are 1 plus its code; the volume of a call that is
// itself a computation is a zigzag, as all arguments are.
constexpr std::uint64_t kNoVolume = 0;

// The values of one site, in the order of ranks and calls.
struct ComputedSite {
  bool is_before_call = true;
  std::vector<std::uint64_t*> values = {};
  std::vector<std::size_t> ends = {};  // of each rank's values
  std::uint32_t last_rank = 0;

  // Ranks come one after the other.
  void add(std::uint32_t rank, std::uint64_t& value) {
    if (ends.empty() || rank != last_rank) ends.push_back(values.size());
    last_rank = rank;
    values.push_back(&value);
    ends.back() = values.size();
  }
};

std::uint64_t value_of(const Decimal& decimal, bool is_before_call) {
  const std::uint64_t code = volume_code(decimal.text());
  if (code == kNoVolumeCode) return kNoVolumeCode;
  return is_before_call ? code + 1 : code << 1;
}

// What stands for each bin's volumes, by the choice; empty: one of it has no code.
using BinValues = std::array<std::uint64_t, 3>;

std::vector<BinValues> values_of(const Representatives& representatives, bool is_before_call) {
  std::vector<BinValues> made;
  for (std::size_t bin = 0; bin < representatives.size(); ++bin) {
    made.emplace_back();
    if (representatives.is_kept(bin)) continue;
    for (const Choice choice : {Choice::bin, Choice::above, Choice::below}) {
      const std::uint64_t value = value_of(representatives.of_bin(bin, choice), is_before_call);
      if (value == kNoVolumeCode) return {};
      made.back()[static_cast<std::size_t>(choice)] = value;
    }
  }
  return made;
}

// Which representative each volume has. `ends`: of the volumes of each rank.
std::vector<Choice> choices_of(const std::vector<double>& volumes,
                               const std::vector<std::size_t>& ends, const Precision& precision,
                               Representatives& representatives) {
  std::vector<Choice> choices(volumes.size(), Choice::bin);
  if (precision.level == Precision::Level::mean) return choices;
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    choose(representatives, precision, &volumes[at], end - at, &choices[at]);
    for (; at < end; ++at) {
      if (choices[at] != Choice::bin) representatives.move(volumes[at], choices[at]);
    }
  }
  if (!representatives.settle()) choices.assign(volumes.size(), Choice::bin);
  return choices;
}

void reduce_site(ComputedSite& site, const Precision& precision) {
  // Larger volumes do not fit into a decimal of a representative.
  constexpr double kLargest = 9e14;
  std::vector<double> volumes;
  for (const std::uint64_t* const value : site.values) {
    volumes.push_back(!site.is_before_call  ? volume_value(*value >> 1)
                      : *value == kNoVolume ? 0.0
                                            : volume_value(*value - 1));
    if (!(volumes.back() <= kLargest)) return;
  }
  if (volumes.empty()) return;
  Representatives representatives(volumes, precision);
  const std::vector<Choice> choices = choices_of(volumes, site.ends, precision, representatives);
  const std::vector<BinValues> made = values_of(representatives, site.is_before_call);
  if (made.empty()) return;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::size_t bin = representatives.bin_of(volumes[i]);
    if (representatives.is_kept(bin)) continue;
    *site.values[i] = made[bin][static_cast<std::size_t>(choices[i])];
  }
}

}  // namespace

void reduce_volumes(const Precision& precision, const TraceTables& tables, const SiteWalk& walk,
                    const RankPlaces& places, std::vector<RankValues>& values) {
  std::vector<bool> computes(tables.kinds_count, false);
  for (std::size_t i = 0; i < tables.signatures.size(); ++i) {
    if (tables.signatures[i].shape == kComputeShape) computes[tables.kinds[i]] = true;
  }
  std::unordered_map<std::uint64_t, ComputedSite> sites;
  const std::uint64_t width = std::uint64_t{tables.kinds_count} + 1;
  // Calls `take(value, site)` for each volume of a computation.
  const auto for_each_volume = [&](RankValues& rank, auto take) {
    auto value = rank.values.begin();
    walk.for_each(places.class_of[rank.rank], [&](std::uint32_t before, std::uint32_t at,
                                                  std::uint32_t place, bool is_volume) {
      std::uint64_t& here = *value++;
      if (!is_volume || (place > 0 && !computes[at])) return;
      ComputedSite& site = sites[(std::uint64_t{before} * width + at) * 2 + (place > 0 ? 1 : 0)];
      site.is_before_call = place == 0;
      take(here, site);
    });
  };
  // Where there is none before a call, there is none with bounded levels either.
  const bool is_mean = precision.level == Precision::Level::mean;
  for (RankValues& rank : values) {
    for_each_volume(rank, [&](std::uint64_t& value, ComputedSite& site) {
      if (site.is_before_call && value == kNoVolume && !is_mean) return;
      site.add(rank.rank, value);
    });
  }
  for (auto& entry : sites) reduce_site(entry.second, precision);
  for (RankValues& rank : values) {
    rank.volumes = 0;
    for_each_volume(rank, [&](std::uint64_t value, const ComputedSite& site) {
      if (site.is_before_call && value != kNoVolume) ++rank.volumes;
    });
  }
}

}  // namespace tit
}  // namespace tisim
