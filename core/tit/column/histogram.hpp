// How often each value occurs at a site.
#pragma once

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

  void add(const Histogram& other);

  bool empty() const { return counts_.empty(); }
  std::uint64_t total() const { return total_; }
  const std::vector<ValueCount>& counts() const { return counts_; }

 private:
  std::vector<ValueCount> counts_;
  std::uint64_t total_ = 0;
};

}  // namespace tit
}  // namespace tisim
