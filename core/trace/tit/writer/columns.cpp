#include "trace/tit/writer/columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/column_coder.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/writer/rank_program.hpp"

namespace tisim::tit {

namespace {

constexpr double kTooLarge = 1e15;
constexpr std::uint64_t kMostSamples = 4096;  // of a site; a model tells no more apart

// The code of a volume with six digits at most.
std::uint64_t code_of_drawn(double volume) {
  constexpr double kWhole = 1e6;
  constexpr int kLongest = 32;
  char text[kLongest];
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

// `count` volumes spread over a histogram as its own are.
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
        std::max(std::round(share * static_cast<double>(kMostSamples)), 1.0));
    if (use.first == 0) {
      samples.insert(samples.end(), static_cast<std::size_t>(count), 0);
    } else {
      take_quantiles(histograms_[static_cast<std::size_t>(use.first - 1)], count, samples);
    }
  }
  return samples;
}

namespace {

// Numbers the contexts by first use, and the sites of each.
class ContextNumbers {
 public:
  explicit ContextNumbers(const SiteWalk& walk, std::uint32_t kinds)
      : walk_(walk), width_(std::uint64_t{kinds} + 1) {}

  // The first site of a context.
  std::uint32_t first_site(std::uint32_t before, std::uint32_t at) {
    const std::uint64_t key = before * width_ + at;
    if (key == last_key_) return last_site_;
    last_key_ = key;
    const std::uint32_t number = numbers_.number(key);
    if (number == first_sites_.size()) {
      first_sites_.push_back(sites_);
      sites_ += walk_.places(at);
    }
    return last_site_ = first_sites_[number];
  }

  // Gives contexts and sites their numbers in the file; the number of each site.
  std::vector<std::uint32_t> finish(TraceTables& tables) const {
    std::vector<std::uint32_t> order(first_sites_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::vector<std::uint64_t>& keys = numbers_.keys();
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    std::vector<std::uint32_t> number_of(sites_);
    std::uint32_t next = 0;
    for (const std::uint32_t i : order) {
      const auto at = static_cast<std::uint32_t>(keys[i] % width_);
      tables.contexts.push_back({static_cast<std::uint32_t>(keys[i] / width_), at, next});
      for (std::uint32_t k = 0; k < walk_.places(at); ++k) number_of[first_sites_[i] + k] = next++;
    }
    return number_of;
  }

 private:
  const SiteWalk& walk_;
  std::uint64_t width_;
  NumberTable numbers_;
  std::vector<std::uint32_t> first_sites_;
  std::uint32_t sites_ = 0;
  std::uint64_t last_key_ = ~std::uint64_t{0};
  std::uint32_t last_site_ = 0;
};

// The sites of the values of all ranks: ranks of a class have theirs in the same order.
struct ValueSites {
  std::vector<std::vector<std::uint32_t>> of_class;
  std::vector<ValueKind> kinds;       // of each site
  std::vector<std::uint64_t> counts;  // of values at each site
};

// Makes tables.contexts too.
ValueSites find_sites(const SiteWalk& walk, const RankPlaces& places,
                      const std::vector<RankValues>& values, TraceTables& tables) {
  ContextNumbers contexts(walk, tables.kinds_count);
  ValueSites sites;
  sites.of_class.resize(tables.classes.size());
  for (const RankValues& rank : values) {
    const std::uint32_t its_class = places.class_of[rank.rank];
    std::vector<std::uint32_t>& of_rank = sites.of_class[its_class];
    if (of_rank.empty()) {
      of_rank.reserve(rank.values.size());
      const auto take = [&](std::uint32_t before, std::uint32_t at, std::uint32_t place,
                            bool is_volume) {
        const std::uint32_t site = contexts.first_site(before, at) + place;
        of_rank.push_back(site);
        if (site < sites.kinds.size()) return;
        sites.kinds.resize(site + std::size_t{1}, ValueKind::volume_before);
        if (place > 0) sites.kinds[site] = is_volume ? ValueKind::volume : ValueKind::number;
      };
      const auto copy = [&](std::size_t first, std::size_t last) {
        const std::size_t size = of_rank.size();
        of_rank.resize(size + last - first);
        std::copy_n(of_rank.begin() + static_cast<std::ptrdiff_t>(first), last - first,
                    of_rank.begin() + static_cast<std::ptrdiff_t>(size));
      };
      walk.for_each_once(
          its_class, take, [&] { return of_rank.size(); }, copy);
      sites.counts.resize(sites.kinds.size());
    }
    for (const std::uint32_t site : of_rank) ++sites.counts[site];
  }
  const std::vector<std::uint32_t> number_of = contexts.finish(tables);
  const std::vector<ValueKind> kinds = sites.kinds;
  const std::vector<std::uint64_t> counts = sites.counts;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    sites.kinds[number_of[i]] = kinds[i];
    sites.counts[number_of[i]] = counts[i];
  }
  for (std::vector<std::uint32_t>& of_rank : sites.of_class) {
    for (std::uint32_t& site : of_rank) site = number_of[site];
  }
  return sites;
}

}  // namespace

std::string encode_columns(std::vector<Histogram> histograms,
                           const std::vector<const std::uint32_t*>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out) {
  constexpr std::uint64_t kLargestValue = ~std::uint64_t{0};
  coded.sites.resize(histograms.size());
  std::vector<Histogram> varying;
  for (std::size_t i = 0; i < histograms.size(); ++i) {
    Site& site = coded.sites[i];
    const std::vector<ValueCount>& counts = histograms[i].counts();
    if (!counts.empty()) site.value = counts.front().value;
    // The largest number cannot be said in the table of sites.
    site.varies = counts.size() > 1 || site.value == kLargestValue;
    if (!site.varies) continue;
    site.value = varying.size();
    varying.push_back(std::move(histograms[i]));
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

std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         const Precision& precision, TraceTables& tables) {
  const SiteWalk walk(tables);
  const RankPlaces places =
      places_of(tables.class_of, tables.ranks, static_cast<std::uint32_t>(tables.classes.size()));
  if (precision.level != Precision::Level::exact) {
    reduce_volumes(precision, tables, walk, places, values);
  }
  const ValueSites sites = find_sites(walk, places, values, tables);
  std::vector<const std::uint32_t*> site_of;
  for (const RankValues& rank : values) {
    site_of.push_back(sites.of_class[places.class_of[rank.rank]].data());
  }
  std::size_t count = 0;
  for (const RankValues& rank : values) count += rank.values.size();
  VolumeNumbers numbers(count);
  std::vector<SiteCounter> counters;
  for (std::size_t i = 0; i < sites.kinds.size(); ++i) {
    counters.emplace_back(sites.kinds[i], sites.counts[i]);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t* site = site_of[i];
    for (const std::uint64_t value : values[i].values) counters[*site++].note(value, numbers);
  }
  for (const SiteCounter& counter : counters) tables.note_volume(counter.largest_volume());
  numbers.finish(tables);
  for (SiteCounter& counter : counters) counter.start(numbers);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t* site = site_of[i];
    for (std::uint64_t& value : values[i].values) counters[*site++].count(value, numbers);
  }
  std::vector<Histogram> histograms;
  for (SiteCounter& counter : counters) histograms.push_back(counter.finish());
  return encode_columns(std::move(histograms), site_of, values, block_values, tables);
}

namespace {

std::vector<const std::uint32_t*> pointers(const std::vector<std::vector<std::uint32_t>>& site_of) {
  std::vector<const std::uint32_t*> made;
  for (const std::vector<std::uint32_t>& of_rank : site_of) made.push_back(of_rank.data());
  return made;
}

std::vector<Histogram> histograms_of(std::vector<std::vector<std::uint64_t>> samples) {
  std::vector<Histogram> made;
  for (std::vector<std::uint64_t>& sample : samples) made.emplace_back(std::move(sample));
  return made;
}

// The lines that the drawn volumes of a rank are.
std::uint64_t drawn_lines(
    const RankColumn& column, std::uint32_t rank_class, const SiteWalk& walk,
    const std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>& sites,
    std::uint64_t seed, const TraceTables& tables) {
  std::uint64_t lines = 0;
  std::uint64_t call = 0;
  walk.for_each(rank_class, [&](std::uint32_t before, std::uint32_t at, std::uint32_t place, bool) {
    if (place > 0) return;
    const std::uint32_t number = sites.find({before, at})->second;
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

std::string code_drawn_columns(std::vector<RankValues> values, std::uint64_t block_values,
                               const VolumeHistograms& histograms, std::uint64_t seed,
                               TraceTables& tables) {
  const SiteWalk walk(tables);
  const RankPlaces places =
      places_of(tables.class_of, tables.ranks, static_cast<std::uint32_t>(tables.classes.size()));
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> contexts;
  for (const RankValues& rank : values) {
    walk.for_each(places.class_of[rank.rank],
                  [&](std::uint32_t before, std::uint32_t at, std::uint32_t, bool) {
                    contexts.emplace(std::make_pair(before, at), 0);
                  });
  }
  std::uint32_t sites = 0;
  for (auto& entry : contexts) {
    entry.second = sites;
    tables.contexts.push_back({entry.first.first, entry.first.second, sites});
    sites += walk.places(entry.first.second);
  }
  std::vector<std::vector<std::uint32_t>> site_of(values.size());
  std::vector<std::vector<std::uint64_t>> samples(sites);
  std::vector<std::map<std::uint64_t, std::uint64_t>> uses(sites);
  std::vector<bool> drawn(sites, false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto value = values[i].values.begin();
    walk.for_each(places.class_of[values[i].rank],
                  [&](std::uint32_t before, std::uint32_t at, std::uint32_t place, bool is_volume) {
                    const std::uint32_t site = contexts.find({before, at})->second + place;
                    // Volumes in lines are codes, which zigzags are not.
                    if (place > 0 && is_volume) {
                      *value = static_cast<std::uint64_t>(unzigzag(*value));
                      tables.note_volume(*value);
                    }
                    site_of[i].push_back(site);
                    if (place == 0) {
                      drawn[site] = true;
                      ++uses[site][*value++];
                    } else {
                      samples[site].push_back(*value++);
                    }
                  });
  }
  for (std::uint32_t site = 0; site < sites; ++site) {
    if (drawn[site]) samples[site] = histograms.samples(uses[site]);
  }
  std::string bytes = encode_columns(histograms_of(std::move(samples)), pointers(site_of), values,
                                     block_values, tables, drawn);
  for (RankColumn& column : tables.columns) {
    const std::uint32_t rank_class = places.class_of[column.rank];
    if (!tables.classes[rank_class].has_volumes) continue;
    column.volumes = drawn_lines(column, rank_class, walk, contexts, seed, tables);
  }
  return bytes;
}

std::string code_attributes(std::vector<RankValues> values, std::uint64_t block_values,
                            const TraceTables& tables, AttributeTables& attributes) {
  const RankPlaces places =
      places_of(tables.class_of, tables.ranks, static_cast<std::uint32_t>(tables.classes.size()));
  attributes.number_sites(tables);
  std::vector<std::vector<std::uint32_t>> site_of(values.size());
  std::vector<std::vector<std::uint64_t>> samples(attributes.sites_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t rank = values[i].rank;
    const std::uint32_t number = places.class_of[rank];
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
  return encode_columns(histograms_of(std::move(samples)), pointers(site_of), values, block_values,
                        attributes);
}

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

}  // namespace tisim::tit
