#include "tit/writer/columns.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "tit/codec/crc32c.hpp"
#include "tit/codec/numbers.hpp"
#include "tit/column/encoder.hpp"
#include "tit/column/precision.hpp"
#include "tit/file/expansion.hpp"
#include "tit/writer/computed_volumes.hpp"
#include "tit/writer/rank_part.hpp"
#include "tit/writer/site_walk.hpp"

namespace tisim {
namespace tit {

namespace {

// Codes of volumes as numbers in the order of all that occur, where that makes them smaller.
class VolumeNumbers {
 public:
  void count(std::uint64_t code) {
    ++values_;
    numbers_.emplace(code, 0);
  }

  void finish(TraceTables& tables) {
    constexpr std::size_t kOften = 4;
    used_ = numbers_.size() * kOften < values_;
    if (!used_) return;
    for (const auto& entry : numbers_) tables.volumes.push_back(entry.first);
    std::sort(tables.volumes.begin(), tables.volumes.end());
    for (std::size_t i = 0; i < tables.volumes.size(); ++i) numbers_[tables.volumes[i]] = i;
  }

  std::uint64_t of(std::uint64_t code) const { return used_ ? numbers_.find(code)->second : code; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  std::uint64_t values_ = 0;
  bool used_ = false;
};

}  // namespace

std::string encode_columns(std::vector<std::vector<std::uint64_t>> samples,
                           const std::vector<std::vector<std::uint32_t>>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out) {
  constexpr std::uint64_t kLargestValue = ~std::uint64_t{0};
  coded.sites.resize(samples.size());
  std::vector<Histogram> varying;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Site& site = coded.sites[i];
    const std::vector<std::uint64_t>& sample = samples[i];
    if (!sample.empty()) site.value = sample.front();
    // The largest number cannot be said in the table of sites.
    site.varies = site.value == kLargestValue ||
                  std::any_of(sample.begin(), sample.end(),
                              [&](std::uint64_t value) { return value != site.value; });
    if (!site.varies) continue;
    site.value = varying.size();
    varying.emplace_back(std::move(samples[i]));
  }
  coded.models = ModelSet::fit(varying);
  ColumnEncoder encoder(coded.models.models);
  std::string all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const RankValues& rank = values[i];
    RankColumn column;
    column.rank = rank.rank;
    column.volumes = rank.volumes;
    Block block;
    const auto end_block = [&] {
      const std::string bytes = encoder.finish();
      block.bytes = bytes.size();
      block.checksum = crc32c(bytes.data(), bytes.size());
      column.blocks.push_back(block);
      block = Block{};
      all += bytes;
    };
    for (std::size_t k = 0; k < rank.values.size(); ++k) {
      const std::uint32_t number = site_of[i][k];
      const Site& site = coded.sites[number];
      if (!site.varies || (!left_out.empty() && left_out[number])) continue;
      encoder.add(coded.models.model_of[static_cast<std::size_t>(site.value)], rank.values[k]);
      if (++block.values == block_values) end_block();
    }
    if (block.values > 0) end_block();
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
  VolumeNumbers numbers;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> contexts;
  for (const RankValues& rank : values) {
    auto value = rank.values.begin();
    std::pair<std::uint32_t, std::uint32_t> last{0xffffffffU, 0};
    walk.for_each(places.class_of[rank.rank],
                  [&](std::uint32_t before, std::uint32_t at, std::uint32_t place, bool is_volume) {
                    const std::pair<std::uint32_t, std::uint32_t> context{before, at};
                    if (context != last) contexts.emplace(context, 0);
                    last = context;
                    const std::uint64_t code = *value++;
                    if (!is_volume) return;
                    if (place > 0)
                      numbers.count(unzigzag(code));
                    else if (code > 0)
                      numbers.count(code - 1);
                  });
  }
  numbers.finish(tables);
  std::uint32_t sites = 0;
  for (auto& entry : contexts) {
    entry.second = sites;
    tables.contexts.push_back({entry.first.first, entry.first.second, sites});
    sites += walk.places(entry.first.second);
  }
  // The site of each value, and the value as it is coded.
  std::vector<std::vector<std::uint32_t>> site_of(values.size());
  std::vector<std::vector<std::uint64_t>> samples(sites);
  const auto width = std::size_t{tables.kinds_count} + 1;
  std::unordered_map<std::uint64_t, std::uint32_t> first_sites;
  for (const auto& entry : contexts) {
    first_sites.emplace(entry.first.first * width + entry.first.second, entry.second);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    RankValues& rank = values[i];
    site_of[i].reserve(rank.values.size());
    auto value = rank.values.begin();
    walk.for_each(places.class_of[rank.rank], [&](std::uint32_t before, std::uint32_t at,
                                                  std::uint32_t place, bool is_volume) {
      if (is_volume && place > 0) {
        *value = numbers.of(static_cast<std::uint64_t>(unzigzag(*value)));
      } else if (is_volume && *value > 0) {
        *value = 1 + numbers.of(*value - 1);
      }
      const std::uint32_t site = first_sites.find(before * width + at)->second + place;
      site_of[i].push_back(site);
      samples[site].push_back(*value++);
    });
  }
  return encode_columns(std::move(samples), site_of, values, block_values, tables);
}

namespace {

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
                    if (place > 0 && is_volume)
                      *value = static_cast<std::uint64_t>(unzigzag(*value));
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
  std::string bytes =
      encode_columns(std::move(samples), site_of, values, block_values, tables, drawn);
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
  return encode_columns(std::move(samples), site_of, values, block_values, attributes);
}

}  // namespace tit
}  // namespace tisim
