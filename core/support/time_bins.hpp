// Amounts over time, such as the bytes moved by each link or file.
//
// Time is divided into equal bins. When a simulation outgrows them, bins are merged in pairs, so
// memory does not depend on the simulated time; the sum per bin is exact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tisim {

// The amounts of several series in each bin.
class TimeBins {
 public:
  // `bins`: an even number.
  TimeBins(std::size_t series, std::size_t bins) : bins_(bins), amounts_(series) {}

  // Adds a series and returns its number.
  std::size_t add_series() {
    amounts_.emplace_back();
    return amounts_.size() - 1;
  }

  void add(std::size_t series, std::size_t bin, double amount) {
    std::vector<double>& amounts = amounts_[series];
    if (amounts.empty()) amounts.resize(bins_);
    amounts[bin] += amount;
  }

  // Spreads an amount evenly between two times, or adds it at once if they are equal.
  void spread(std::size_t series, double begin, double end, double amount) {
    const std::size_t last = bin_of(end);
    const std::size_t first = bin_of(begin);
    if (first == last) return add(series, first, amount);
    const double rate = amount / (end - begin);
    for (std::size_t bin = first; bin <= last; ++bin) {
      const double from = std::max(begin, width_ * static_cast<double>(bin));
      const double to = std::min(end, width_ * static_cast<double>(bin + 1));
      if (to > from) add(series, bin, rate * (to - from));
    }
  }

  double width() const { return width_; }  // seconds
  // The amount in each bin; empty if none was added.
  const std::vector<double>& of(std::size_t series) const { return amounts_[series]; }
  std::size_t size() const { return amounts_.size(); }

  // Returns the bin of a time, widening the bins if necessary.
  std::size_t bin_of(double time) {
    while (time >= width_ * static_cast<double>(bins_)) widen();
    return static_cast<std::size_t>(time / width_);
  }

 private:
  void widen() {
    width_ *= 2;
    for (std::vector<double>& amounts : amounts_) {
      if (amounts.empty()) continue;
      for (std::size_t i = 0; i < bins_; ++i) {
        const double merged = 2 * i + 1 < bins_ ? amounts[2 * i] + amounts[2 * i + 1] : 0.0;
        amounts[i] = merged;
      }
    }
  }

  std::size_t bins_;
  double width_ = 0x1p-20;                    // a power of two, so that bin boundaries are exact
  std::vector<std::vector<double>> amounts_;  // by series
};

}  // namespace tisim
