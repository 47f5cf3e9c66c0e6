// How often each value stands at a site, once volumes have their numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/tit/codec/numbers.hpp"
#include "trace/tit/column/histogram.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/volume_set.hpp"

namespace tisim {
namespace tit {

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

}  // namespace tit
}  // namespace tisim
