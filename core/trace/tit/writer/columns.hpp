// The columns of ranks: sites are counted and modelled, values are coded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/tit/column/site_model.hpp"
#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/writer/rank_program.hpp"

namespace tisim::tit {

// A file whose volumes are drawn has this section: the seed.
constexpr std::string_view kDrawnSection = "drawn volumes";

// So many volumes from `least` to `most`.
struct VolumeBin {
  double least = 0;
  double most = 0;
  std::uint64_t count = 0;
};

// The histograms of a trace, numbered. A computation names one instead of a volume.
class VolumeHistograms {
 public:
  // Least and largest volumes must be in order, not negative and below 1e15; there is a volume.
  // Throws std::invalid_argument.
  std::uint32_t add(std::vector<VolumeBin> bins);
  // That of one volume, which is always the same.
  std::uint32_t add(std::uint64_t volume_code);
  bool empty() const { return histograms_.empty(); }
  std::size_t size() const { return histograms_.size(); }

  // Values of a site to fit a model to. `uses`: how often each value, 1 plus the number of a
  // histogram or 0 for no computation, stands there.
  std::vector<std::uint64_t> samples(const std::map<std::uint64_t, std::uint64_t>& uses) const;

 private:
  std::vector<std::vector<VolumeBin>> histograms_;
  std::map<std::uint64_t, std::uint32_t> constants_;  // by the codes of their volumes
};

// The columns of ranks: models of their sites, and their values coded.

// What a rank has in its column, as RankProgram::values has it.
struct RankValues {
  std::uint32_t rank = 0;
  std::uint64_t volumes = 0;
  std::vector<std::uint64_t> values;
};

// Makes all of `coded`; returns the coded values, rank after rank. `histograms`: the values of each
// site; `site_of`: the sites of each rank's values. A block holds about `block_values` values.
// Values at sites of `left_out` are not coded; empty: all are.
std::string encode_columns(std::vector<Histogram> histograms,
                           const std::vector<const std::uint32_t*>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out = {});

// Makes tables.volumes, contexts, sites and columns; returns the coded values, rank after rank.
// `tables` must have its classes and its kinds. A block holds about `block_values` values.
// Volumes of computations are kept as exactly as `precision` says.
std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         const Precision& precision, TraceTables& tables);

// The same for volumes before calls that are numbers of histograms: they are not coded, a reader
// draws them by the seed.
std::string code_drawn_columns(std::vector<RankValues> values, std::uint64_t block_values,
                               const VolumeHistograms& histograms, std::uint64_t seed,
                               TraceTables& tables);

// The same for attributes: makes all of CodedColumns of `attributes`, which must have its classes.
std::string code_attributes(std::vector<RankValues> values, std::uint64_t block_values,
                            const TraceTables& tables, AttributeTables& attributes);

// How often each value stands at a site, once volumes have their numbers.

// Codes of volumes as numbers in the order of all that occur, where that makes them smaller.
class VolumeNumbers {
 public:
  // So many values will be noted at most.
  explicit VolumeNumbers(std::size_t values) : codes_(values) {}

  // A code plus 1, or 0 for none.
  void note(std::uint64_t next) {
    values_ += next != 0 ? 1 : 0;
    codes_.add_place(next);
  }

  void finish(TraceTables& tables) {
    constexpr std::size_t kOften = 4;
    is_listed_ = codes_.size() * kOften < values_;
    if (!is_listed_) return;
    codes_.number();
    tables.volumes = codes_.codes();
  }

  // 1 plus what stands in columns for a code, given 1 plus the code; 0 for 0.
  std::uint64_t place_of(std::uint64_t next) const {
    return is_listed_ ? codes_.place_of(next) : next;
  }

 private:
  VolumeSet codes_;
  std::uint64_t values_ = 0;
  bool is_listed_ = false;
};

// What a value at a site is.
enum class ValueKind : std::uint8_t { volume_before, volume, number };

// Counts the values of a site, in two passes over them.
class SiteCounter {
 public:
  SiteCounter(ValueKind kind, std::uint64_t values) : kind_(kind), values_(values) {}

  // The first pass: a value as a rank has it.
  void note(std::uint64_t value, VolumeNumbers& numbers) {
    value = with_code(value);
    if (kind_ != ValueKind::number) numbers.note(value + (kind_ == ValueKind::volume ? 1 : 0));
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  // The largest code of a volume, or that plus 1, which is no other kind of code; between the
  // passes.
  std::uint64_t largest_volume() const { return kind_ == ValueKind::number ? 0 : high_; }
  // Between the passes. Numbers are in the order of the codes.
  void start(const VolumeNumbers& numbers) {
    constexpr std::uint64_t kMostCounted = 0xffffffffU;
    if (values_ == 0) return;
    low_ = in_column(low_, numbers);
    high_ = in_column(high_, numbers);
    if (Histogram::is_dense(high_ - low_, values_) && values_ <= kMostCounted) {
      table_.assign(static_cast<std::size_t>(high_ - low_) + 1, 0);
    } else {
      sample_.reserve(static_cast<std::size_t>(values_));
    }
  }
  // The second pass: the value becomes what stands in the column.
  void count(std::uint64_t& value, const VolumeNumbers& numbers) {
    value = in_column(with_code(value), numbers);
    if (table_.empty()) {
      sample_.push_back(value);
    } else {
      ++table_[static_cast<std::size_t>(value - low_)];
    }
  }
  Histogram finish() {
    if (table_.empty()) return Histogram(std::move(sample_));
    return {low_, table_.data(), table_.size()};
  }

 private:
  // The code of a volume, plus 1 where there may be none.
  std::uint64_t with_code(std::uint64_t value) const {
    return kind_ == ValueKind::volume ? static_cast<std::uint64_t>(unzigzag(value)) : value;
  }
  std::uint64_t in_column(std::uint64_t value, const VolumeNumbers& numbers) const {
    if (kind_ == ValueKind::number) return value;
    return kind_ == ValueKind::volume ? numbers.place_of(value + 1) - 1 : numbers.place_of(value);
  }

  ValueKind kind_;
  std::uint64_t values_;
  std::uint64_t low_ = ~std::uint64_t{0};
  std::uint64_t high_ = 0;
  std::vector<std::uint32_t> table_;   // how often each number from low_ on occurs
  std::vector<std::uint64_t> sample_;  // instead of it: all values
};

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
    while (expansion.next(call)) before = for_call(made, call, before, take);
  }

  // The same for values of which equal ones, with the same calls before and at them, follow from
  // one another: `take` is called for two repetitions of a loop at most, and `copy(first, last)`
  // for more: the values from the first one to the last one, exclusive, come once more. Values are
  // numbered by `size()`.
  template <class Take, class Size, class Copy>
  void for_each_once(std::uint32_t rank_class, const Take& take, const Size& size,
                     const Copy& copy) const {
    std::uint32_t before = 0;
    walk_rule(tables_.classes[rank_class], 0, before, take, size, copy);
  }

  std::uint32_t places(std::uint32_t kind) const {
    return 1 + static_cast<std::uint32_t>(arguments_[kind].size());
  }

 private:
  // Returns what is before the next call.
  template <class Take>
  std::uint32_t for_call(const RankClass& made, std::uint32_t call, std::uint32_t before,
                         const Take& take) const {
    const std::uint32_t kind = tables_.kinds[made.signatures[call]];
    if (made.has_volumes) take(before, kind, 0U, true);
    for (std::size_t i = 0; i < arguments_[kind].size(); ++i) {
      take(before, kind, static_cast<std::uint32_t>(i) + 1, bool{arguments_[kind][i]});
    }
    return kind + 1;
  }

  template <class Take, class Size, class Copy>
  void walk_rule(const RankClass& made, std::uint32_t rule, std::uint32_t& before, const Take& take,
                 const Size& size, const Copy& copy) const {
    for (const Item item : made.grammar.rules[rule]) {
      std::size_t first = 0;
      for (std::uint64_t times = 0; times < item.exponent; ++times) {
        // From the second time on, what is before the first call is the last one of the item.
        if (times == 2) {
          const std::size_t last = size();
          for (; times < item.exponent; ++times) copy(first, last);
          break;
        }
        first = size();
        if (item.is_rule()) {
          walk_rule(made, item.number(), before, take, size, copy);
        } else {
          before = for_call(made, item.number(), before, take);
        }
      }
    }
  }

  const TraceTables& tables_;
  std::vector<std::vector<bool>> arguments_;  // of each kind: whether each in a column is a volume
};

// Volumes of computations, less exactly.

// Replaces the volumes of computations in the columns, site by site, by what stands for them at
// this level of precision. Other values stay as they are.
void reduce_volumes(const Precision& precision, const TraceTables& tables, const SiteWalk& walk,
                    const RankPlaces& places, std::vector<RankValues>& values);

}  // namespace tisim::tit
