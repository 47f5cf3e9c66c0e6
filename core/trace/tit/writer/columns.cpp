#include "trace/tit/writer/columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/column_coder.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/tit/column/site_model.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/writer/rank_program.hpp"

namespace tisim::tit {

namespace {

constexpr double kTooLarge = 1e15;
constexpr std::uint64_t kMaxSamples = 4096;  // of a site; a model has no finer resolution

// The code of a volume with at most six digits.
std::uint64_t code_of_drawn(double volume) {
  constexpr double kWhole = 1e6;
  constexpr int kMaxTextLength = 32;
  char text[kMaxTextLength];
  if (volume < kWhole - 1) {
    std::snprintf(text, sizeof text, "%.0f", volume);
  } else {
    std::snprintf(text, sizeof text, "%.6g", std::max(volume, kWhole));
  }
  return volume_code(text);
}

std::uint64_t volumes_in(const std::vector<VolumeBin>& bins) {
  std::uint64_t all = 0;
  for (const VolumeBin& bin : bins) all += bin.count;
  return all;
}

// Adds `count` volumes distributed like those of a histogram.
void take_quantiles(const std::vector<VolumeBin>& bins, std::uint64_t count,
                    std::vector<std::uint64_t>& samples) {
  const auto all = static_cast<double>(volumes_in(bins));
  auto bin = bins.begin();
  double before = 0;  // volumes in the bins before
  for (std::uint64_t i = 0; i < count; ++i) {
    const double place = all * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    while (bin + 1 != bins.end() && place >= before + static_cast<double>(bin->count)) {
      before += static_cast<double>((bin++)->count);
    }
    const double part = std::min((place - before) / static_cast<double>(bin->count), 1.0);
    samples.push_back(1 + code_of_drawn(bin->least + part * (bin->most - bin->least)));
  }
}

}  // namespace

std::uint32_t VolumeHistograms::add(std::vector<VolumeBin> bins) {
  bins.erase(
      std::remove_if(bins.begin(), bins.end(), [](const VolumeBin& bin) { return bin.count == 0; }),
      bins.end());
  double least = 0;
  for (const VolumeBin& bin : bins) {
    if (!(bin.least >= least && bin.most >= bin.least && bin.most < kTooLarge)) {
      throw std::invalid_argument("the bins of a histogram of volumes are out of order or range");
    }
    least = bin.most;
  }
  if (bins.empty()) throw std::invalid_argument("a histogram of volumes has none");
  histograms_.push_back(std::move(bins));
  return static_cast<std::uint32_t>(histograms_.size()) - 1;
}

std::uint32_t VolumeHistograms::add(std::uint64_t code) {
  const auto known = constants_.find(code);
  if (known != constants_.end()) return known->second;
  const double volume = volume_value(code);
  const std::uint32_t number = add({{volume, volume, 1}});
  constants_.emplace(code, number);
  return number;
}

std::vector<std::uint64_t> VolumeHistograms::samples(
    const std::map<std::uint64_t, std::uint64_t>& uses) const {
  std::uint64_t all = 0;
  for (const auto& use : uses) all += use.second;
  std::vector<std::uint64_t> samples;
  for (const auto& use : uses) {
    const double share = static_cast<double>(use.second) / static_cast<double>(all);
    const auto count = static_cast<std::uint64_t>(
        std::max(std::round(share * static_cast<double>(kMaxSamples)), 1.0));
    if (use.first == 0) {
      samples.insert(samples.end(), static_cast<std::size_t>(count), 0);
    } else {
      take_quantiles(histograms_[static_cast<std::size_t>(use.first - 1)], count, samples);
    }
  }
  return samples;
}

namespace {

// The meaning of a value at a site.
enum class ValueKind : std::uint8_t { volume_before, volume, number };

// Walks over the values of a rank with the site of each.
class SiteWalk {
 public:
  explicit SiteWalk(const TraceTables& tables) : tables_(tables), arguments_(tables.kinds_count) {
    for (std::size_t i = 0; i < tables.signatures.size(); ++i) {
      std::vector<ValueKind>& of_kind = arguments_[tables.kinds[i]];
      const Signature& signature = tables.signatures[i];
      of_kind.clear();
      for (std::size_t k = 0; k < signature.arguments.size(); ++k) {
        if (signature.arguments[k].mode != Mode::column) continue;
        const bool is_volume = tables.shapes[signature.shape].holes[k].mark == kVolumeMark;
        of_kind.push_back(is_volume ? ValueKind::volume : ValueKind::number);
      }
    }
  }

  // Calls `take(before, at, place, value_kind)` for each value: kinds of the previous call (plus 1)
  // and of the call, and the index of the value in the context.
  template <class Take>
  void for_each(std::uint32_t rank_class, Take take) const {
    const RankClass& made = tables_.classes[rank_class];
    Expansion expansion(made.grammar);
    std::uint32_t call = 0;
    std::uint32_t before = 0;
    while (expansion.next(call)) {
      const std::uint32_t kind = tables_.kinds[made.signatures[call]];
      if (made.has_volumes) take(before, kind, 0U, ValueKind::volume_before);
      std::uint32_t place = 0;
      for (const ValueKind value : arguments_[kind]) take(before, kind, ++place, value);
      before = kind + 1;
    }
  }

  // Number of sites of a context.
  std::uint32_t sites_per_context(std::uint32_t kind) const {
    return 1 + static_cast<std::uint32_t>(arguments_[kind].size());
  }

 private:
  const TraceTables& tables_;
  std::vector<std::vector<ValueKind>> arguments_;  // by kind: those in columns
};

// The sites of the values of all ranks; ranks of a class have theirs in the same order.
struct ValueSites {
  std::vector<std::vector<std::uint32_t>> of_class;
  std::vector<ValueKind> kinds;  // by site
};

// Also creates tables.contexts.
ValueSites find_sites(const SiteWalk& walk, const RankPositions& positions,
                      const std::vector<RankValues>& values, TraceTables& tables) {
  const std::uint64_t width = std::uint64_t{tables.kinds_count} + 1;
  NumberTable contexts;
  std::vector<std::uint32_t> first_sites;  // of contexts, by first use
  std::uint32_t count = 0;                 // of sites
  ValueSites sites;
  sites.of_class.resize(tables.classes.size());
  for (const RankValues& rank : values) {
    const std::uint32_t its_class = positions.class_of[rank.rank];
    std::vector<std::uint32_t>& of_rank = sites.of_class[its_class];
    if (!of_rank.empty()) continue;
    of_rank.reserve(rank.values.size());
    walk.for_each(its_class,
                  [&](std::uint32_t before, std::uint32_t at, std::uint32_t place, ValueKind) {
                    const std::uint32_t context = contexts.number(before * width + at);
                    if (context == first_sites.size()) {
                      first_sites.push_back(count);
                      count += walk.sites_per_context(at);
                    }
                    of_rank.push_back(first_sites[context] + place);
                  });
  }
  // The numbers of contexts and sites in the file.
  std::vector<std::uint32_t> order(first_sites.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::vector<std::uint64_t>& keys = contexts.keys();
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  std::vector<std::uint32_t> number_of(count);
  std::uint32_t next = 0;
  for (const std::uint32_t context : order) {
    const auto at = static_cast<std::uint32_t>(keys[context] % width);
    tables.contexts.push_back({static_cast<std::uint32_t>(keys[context] / width), at, next});
    for (std::uint32_t k = 0; k < walk.sites_per_context(at); ++k) {
      number_of[first_sites[context] + k] = next++;
    }
  }
  sites.kinds.resize(count, ValueKind::volume_before);
  for (std::size_t i = 0; i < sites.of_class.size(); ++i) {
    for (std::uint32_t& site : sites.of_class[i]) site = number_of[site];
    auto site = sites.of_class[i].begin();
    if (site == sites.of_class[i].end()) continue;
    walk.for_each(static_cast<std::uint32_t>(i),
                  [&](std::uint32_t, std::uint32_t, std::uint32_t, ValueKind kind) {
                    sites.kinds[*site++] = kind;
                  });
  }
  return sites;
}

// Replaces codes of volumes by their index in the sorted list of all codes, if that is smaller.
class VolumeNumbers {
 public:
  // Replaces a code plus 1, or 0 for none, by the argument of column_value().
  void note(std::uint64_t& next) {
    if (next == 0) return;
    ++value_count_;
    next = codes_.number(next - 1) + std::uint64_t{1};
  }

  void finish(TraceTables& tables) {
    constexpr std::size_t kOften = 4;
    const std::vector<std::uint64_t>& codes = codes_.keys();
    column_values_ = codes;
    if (codes_.size() * kOften >= value_count_) return;
    tables.volumes = codes;
    std::sort(tables.volumes.begin(), tables.volumes.end());
    for (std::uint64_t& code : column_values_) {
      const auto at = std::lower_bound(tables.volumes.begin(), tables.volumes.end(), code);
      code = static_cast<std::uint64_t>(at - tables.volumes.begin());
    }
  }

  // The value in columns for a code; 0 for none.
  std::uint64_t column_value(std::uint64_t noted) const {
    return noted == 0 ? 0 : column_values_[static_cast<std::size_t>(noted - 1)] + 1;
  }

 private:
  NumberTable codes_;                         // by first use
  std::vector<std::uint64_t> column_values_;  // by number: the value in columns
  std::uint64_t value_count_ = 0;
};

// Replaces the volumes of computations in the columns, site by site, by representatives at this
// level of precision. Other values stay the same.
void reduce_volumes(const Precision& precision, const TraceTables& tables, const SiteWalk& walk,
                    const RankPositions& positions, std::vector<RankValues>& values);

}  // namespace

std::string encode_columns(std::vector<std::vector<std::uint64_t>> samples,
                           const std::vector<const std::uint32_t*>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out) {
  constexpr std::uint64_t kMaxValue = ~std::uint64_t{0};
  coded.sites.resize(samples.size());
  std::vector<Histogram> varying;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Histogram histogram(std::move(samples[i]));
    Site& site = coded.sites[i];
    const std::vector<ValueCount>& counts = histogram.counts();
    if (!counts.empty()) site.value = counts.front().value;
    // The largest number cannot be expressed in the table of sites.
    site.varies = counts.size() > 1 || site.value == kMaxValue;
    if (!site.varies) continue;
    site.value = varying.size();
    varying.push_back(std::move(histogram));
  }
  coded.models = ModelSet::fit(varying);
  varying.clear();
  std::vector<std::uint32_t> model_of(coded.sites.size(), ColumnEncoder::kNoModel);
  for (std::size_t i = 0; i < coded.sites.size(); ++i) {
    const Site& site = coded.sites[i];
    const bool is_coded = left_out.empty() || !left_out[i];
    if (site.varies && is_coded)
      model_of[i] = coded.models.model_of[static_cast<std::size_t>(site.value)];
  }
  ColumnEncoder encoder(coded.models.models, model_of);
  std::string all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const RankValues& rank = values[i];
    RankColumn column;
    column.rank = rank.rank;
    column.volumes = rank.volumes;
    Block block;
    std::size_t first = 0;  // of the block
    const auto end_block = [&](std::size_t end) {
      const std::string bytes =
          encoder.encode(rank.values.data() + first, site_of[i] + first, end - first, block.values);
      block.bytes = bytes.size();
      block.checksum = crc32c(bytes.data(), bytes.size());
      column.blocks.push_back(block);
      block = Block{};
      first = end;
      all += bytes;
    };
    for (std::size_t k = 0; k < rank.values.size(); ++k) {
      block.values += encoder.is_coded(site_of[i][k]) ? 1 : 0;
      if (block.values == block_values) end_block(k + 1);
    }
    if (block.values > 0) end_block(rank.values.size());
    if (column.volumes > 0 || !column.blocks.empty()) coded.columns.push_back(std::move(column));
  }
  return all;
}

namespace {

// The number of lines that the drawn volumes of a rank add.
std::uint64_t drawn_lines(const RankColumn& column, std::uint32_t rank_class, const SiteWalk& walk,
                          std::uint64_t seed, const TraceTables& tables) {
  const SiteTable sites(tables);
  std::uint64_t lines = 0;
  std::uint64_t call = 0;
  walk.for_each(
      rank_class, [&](std::uint32_t before, std::uint32_t at, std::uint32_t place, ValueKind) {
        if (place > 0) return;
        const std::uint32_t number = sites.find(before, at);
        const Site& site = tables.sites[number];
        std::uint64_t value = site.value;
        if (site.varies) {
          const std::uint32_t model = tables.models.model_of[static_cast<std::size_t>(site.value)];
          value = drawn_value(tables.models.models[model], seed, column.rank, number, call);
        }
        ++call;
        if (value != 0) ++lines;
      });
  return lines;
}

}  // namespace

std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         const std::optional<DrawnVolumes>& drawn, TraceTables& tables) {
  const SiteWalk walk(tables);
  const RankPositions positions = positions_of(tables.class_of, tables.ranks,
                                               static_cast<std::uint32_t>(tables.classes.size()));
  const std::string& level = tables.layout.precision;
  if (!level.empty() && !drawn) {
    reduce_volumes(Precision::of(level), tables, walk, positions, values);
  }
  const ValueSites sites = find_sites(walk, positions, values, tables);
  std::vector<const std::uint32_t*> site_of;
  for (const RankValues& rank : values) {
    site_of.push_back(sites.of_class[positions.class_of[rank.rank]].data());
  }
  // Calls `take(value, site)` for all values.
  const auto for_each_value = [&](auto take) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t* site = site_of[i];
      for (std::uint64_t& value : values[i].values) take(value, *site++);
    }
  };
  VolumeNumbers numbers;
  std::vector<std::size_t> counts(sites.kinds.size(), 0);
  for_each_value([&](std::uint64_t& value, std::uint32_t site) {
    const ValueKind kind = sites.kinds[site];
    ++counts[site];
    if (kind == ValueKind::volume) value = static_cast<std::uint64_t>(unzigzag(value)) + 1;
    if (kind != ValueKind::number && !drawn) numbers.note(value);
  });
  numbers.finish(tables);
  std::vector<std::vector<std::uint64_t>> samples(sites.kinds.size());
  for (std::size_t site = 0; site < samples.size(); ++site) {
    if (!drawn || sites.kinds[site] != ValueKind::volume_before) samples[site].resize(counts[site]);
  }
  std::vector<std::size_t> filled(samples.size(), 0);
  std::vector<std::map<std::uint64_t, std::uint64_t>> uses(sites.kinds.size());
  std::vector<bool> is_drawn(sites.kinds.size(), false);
  for_each_value([&](std::uint64_t& value, std::uint32_t site) {
    const ValueKind kind = sites.kinds[site];
    if (drawn && kind == ValueKind::volume_before) {
      is_drawn[site] = true;
      ++uses[site][value];
      return;
    }
    if (kind != ValueKind::number && !drawn) value = numbers.column_value(value);
    if (kind == ValueKind::volume) --value;
    samples[site][filled[site]++] = value;
  });
  for (std::size_t site = 0; site < samples.size(); ++site) {
    if (is_drawn[site]) samples[site] = drawn->histograms.samples(uses[site]);
  }
  std::string bytes =
      encode_columns(std::move(samples), site_of, values, block_values, tables, is_drawn);
  for (RankColumn& column : tables.columns) {
    const std::uint32_t rank_class = positions.class_of[column.rank];
    if (!drawn || !tables.classes[rank_class].has_volumes) continue;
    column.volumes = drawn_lines(column, rank_class, walk, drawn->seed, tables);
  }
  return bytes;
}

std::string code_attributes(std::vector<RankValues> values, std::uint64_t block_values,
                            const TraceTables& tables, AttributeTables& attributes) {
  const RankPositions positions = positions_of(tables.class_of, tables.ranks,
                                               static_cast<std::uint32_t>(tables.classes.size()));
  attributes.number_sites(tables);
  std::vector<std::vector<std::uint32_t>> site_of(values.size());
  std::vector<std::vector<std::uint64_t>> samples(attributes.sites_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t rank = values[i].rank;
    const std::uint32_t number = positions.class_of[rank];
    const RankClass& of_rank = tables.classes[number];
    auto value = values[i].values.begin();
    Expansion expansion(of_rank.grammar);
    for (std::uint32_t call = 0; expansion.next(call);) {
      const std::uint32_t kind = tables.kinds[of_rank.signatures[call]];
      const CallAttributes& layout = attributes.of_call(number, call);
      const auto take = [&](std::uint32_t attribute, bool is_before) {
        const std::uint32_t site = attributes.site_of(attribute, kind, is_before);
        const auto plain = static_cast<std::int64_t>(*value);
        const AttributeKind made_of = attributes.attributes[attribute].kind;
        *value = plain == kNoAttribute ? 0 : attribute_code(made_of, plain, rank);
        site_of[i].push_back(site);
        samples[site].push_back(*value++);
      };
      for (const std::uint32_t attribute : layout.before) take(attribute, true);
      for (const std::uint32_t attribute : layout.at) take(attribute, false);
    }
  }
  std::vector<const std::uint32_t*> sites;
  for (const std::vector<std::uint32_t>& of_rank : site_of) sites.push_back(of_rank.data());
  return encode_columns(std::move(samples), sites, values, block_values, attributes);
}

namespace {

// Before a call, 0 is no volume and other values are 1 plus its code; the volume of a call that is
// itself a computation is a zigzag, like all arguments.
constexpr std::uint64_t kNoVolume = 0;

// The values of one site, in the order of ranks and calls.
struct ComputedSite {
  bool is_before_call = true;
  std::vector<std::uint64_t*> values = {};
  std::vector<std::size_t> ends = {};  // of each rank's values
  std::uint32_t last_rank = 0;

  // Ranks must come one after the other.
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

// Values for each bin's volumes, by choice; empty if one has no code.
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

// The representative of each volume. `ends`: of the volumes of each rank.
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
  // Larger volumes exceed the decimals of representatives.
  constexpr double kMaxVolume = 9e14;
  std::vector<double> volumes;
  for (const std::uint64_t* const value : site.values) {
    volumes.push_back(!site.is_before_call  ? volume_value(*value >> 1)
                      : *value == kNoVolume ? 0.0
                                            : volume_value(*value - 1));
    if (!(volumes.back() <= kMaxVolume)) return;
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

void reduce_volumes(const Precision& precision, const TraceTables& tables, const SiteWalk& walk,
                    const RankPositions& positions, std::vector<RankValues>& values) {
  std::vector<bool> computes(tables.kinds_count, false);
  for (std::size_t i = 0; i < tables.signatures.size(); ++i) {
    if (tables.signatures[i].shape == kComputeShape) computes[tables.kinds[i]] = true;
  }
  std::unordered_map<std::uint64_t, ComputedSite> sites;
  const std::uint64_t width = std::uint64_t{tables.kinds_count} + 1;
  // Calls `take(value, site)` for each volume of a computation.
  const auto for_each_volume = [&](RankValues& rank, auto take) {
    auto value = rank.values.begin();
    walk.for_each(positions.class_of[rank.rank], [&](std::uint32_t before, std::uint32_t at,
                                                     std::uint32_t place, ValueKind kind) {
      std::uint64_t& here = *value++;
      if (kind == ValueKind::number || (place > 0 && !computes[at])) return;
      ComputedSite& site = sites[(std::uint64_t{before} * width + at) * 2 + (place > 0 ? 1 : 0)];
      site.is_before_call = place == 0;
      take(here, site);
    });
  };
  // With bounded levels, a call without a volume stays without one.
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

}  // namespace

}  // namespace tisim::tit
