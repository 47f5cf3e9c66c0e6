// Logarithms of counts and weights, from tables.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tisim {
namespace tit {

class CountBits {
 public:
  // Arguments of log() and weight() are at least 1 and at most so large.
  static constexpr std::size_t kLargest = std::size_t{1} << 12;

  static const CountBits& get() {
    static const CountBits kTable;
    return kTable;
  }
  // n log2(n); 0 for 0.
  double times_log(std::uint64_t count) const {
    return count < kSmall ? times_log_[count] : static_cast<double>(count) * log_of(count);
  }
  // log2(n), and what the weight n of a bin takes in the file.
  double log(std::uint64_t number) const { return log_[number]; }
  double weight(std::uint64_t number) const { return weight_[number]; }

 private:
  static constexpr std::size_t kSmall = kLargest + 1;

  CountBits() {
    for (std::size_t count = 1; count < kSmall; ++count) {
      log_[count] = log_of(count);
      times_log_[count] = static_cast<double>(count) * log_[count];
      weight_[count] = 1.5 + 1.1 * log_[count];
    }
  }
  static double log_of(std::uint64_t count) { return std::log2(static_cast<double>(count)); }

  double times_log_[kSmall] = {};
  double log_[kSmall] = {};
  double weight_[kSmall] = {};
};

}  // namespace tit
}  // namespace tisim
