// How often each value occurs at a site.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tisim {
namespace tit {

struct ValueCount {
  std::uint64_t value = 0;
  std::uint64_t count = 0;
};

// Distinct values in ascending order.
class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(std::vector<std::uint64_t> values);
  // Of values that were counted: how often `low` occurs, and each number behind it.
  Histogram(std::uint64_t low, const std::uint32_t* counts, std::size_t size);
  // Of the values of both.
  static Histogram sum(const Histogram& a, const Histogram& b);

  // Whether so many values that reach over `span` numbers are better counted in a table than
  // sorted.
  static bool is_dense(std::uint64_t span, std::uint64_t values) {
    constexpr std::uint64_t kDense = 4;
    return span / kDense < values;
  }

  bool empty() const { return counts_.empty(); }
  std::uint64_t total() const { return total_; }
  const std::vector<ValueCount>& counts() const { return counts_; }

 private:
  std::vector<ValueCount> counts_;
  std::uint64_t total_ = 0;
};

}  // namespace tit
}  // namespace tisim
