#include "tit/writer/columns.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "tit/codec/crc32c.hpp"
#include "tit/column/encoder.hpp"
#include "tit/file/expansion.hpp"

namespace tisim {
namespace tit {

namespace {

// Walks over the values of a rank with the site of each.
class SiteWalk {
 public:
  explicit SiteWalk(const TraceTables& tables) : tables_(tables), arguments_(tables.kinds_count) {
    for (std::size_t i = 0; i < tables.signatures.size(); ++i) {
      std::vector<bool>& of_kind = arguments_[tables.kinds[i]];
      const Signature& signature = tables.signatures[i];
      of_kind.clear();
      for (std::size_t k = 0; k < signature.arguments.size(); ++k) {
        if (signature.arguments[k].mode != Mode::column) continue;
        const Shape& shape = tables.shapes[signature.shape];
        of_kind.push_back(shape.holes[k].mark == kVolumeMark);
      }
    }
  }

  // Calls `take(before, at, place, is_volume)` for each value: kinds of the calls before (plus 1)
  // and at it, and its place in the context.
  template <class Take>
  void for_each(std::uint32_t rank_class, Take take) const {
    const RankClass& made = tables_.classes[rank_class];
    Expansion expansion(made.grammar);
    std::uint32_t call = 0;
    std::uint32_t before = 0;
    while (expansion.next(call)) {
      const std::uint32_t kind = tables_.kinds[made.signatures[call]];
      if (made.has_volumes) take(before, kind, 0U, true);
      for (std::size_t i = 0; i < arguments_[kind].size(); ++i) {
        take(before, kind, static_cast<std::uint32_t>(i) + 1, bool{arguments_[kind][i]});
      }
      before = kind + 1;
    }
  }

  std::uint32_t places(std::uint32_t kind) const {
    return 1 + static_cast<std::uint32_t>(arguments_[kind].size());
  }

 private:
  const TraceTables& tables_;
  std::vector<std::vector<bool>> arguments_;  // of each kind: whether each in a column is a volume
};

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

std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         TraceTables& tables) {
  const SiteWalk walk(tables);
  const RankPlaces places =
      places_of(tables.class_of, tables.ranks, static_cast<std::uint32_t>(tables.classes.size()));
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
  tables.sites.resize(sites);
  std::vector<Histogram> varying;
  for (std::uint32_t i = 0; i < sites; ++i) {
    Site& site = tables.sites[i];
    const std::vector<std::uint64_t>& sample = samples[i];
    if (!sample.empty()) site.value = sample.front();
    site.varies = std::any_of(sample.begin(), sample.end(),
                              [&](std::uint64_t value) { return value != site.value; });
    if (!site.varies) continue;
    site.value = varying.size();
    varying.emplace_back(std::move(samples[i]));
  }
  tables.models = ModelSet::fit(varying);
  ColumnEncoder encoder(tables.models.models);
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
      const Site& site = tables.sites[site_of[i][k]];
      if (!site.varies) continue;
      encoder.add(tables.models.model_of[static_cast<std::size_t>(site.value)], rank.values[k]);
      if (++block.values == block_values) end_block();
    }
    if (block.values > 0) end_block();
    if (column.volumes > 0 || !column.blocks.empty()) tables.columns.push_back(std::move(column));
  }
  return all;
}

}  // namespace tit
}  // namespace tisim
