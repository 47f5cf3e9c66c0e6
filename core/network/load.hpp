// How much each link carries over time, for those who ask.
//
// Time is divided into equal bins. When a simulation outgrows them, two at a time become one, so
// that memory does not depend on how long it takes; within a bin the sums are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tisim {

class LinkLoad {
 public:
  // `bins`: an even number.
  LinkLoad(std::size_t links, std::size_t bins) : bins_(bins), loads_(links) {}

  // `bytes` more on a link at some time.
  void add(std::size_t link, std::size_t bin, double bytes) {
    std::vector<double>& load = loads_[link];
    if (load.empty()) load.resize(bins_);
    load[bin] += bytes;
  }

  double width() const { return width_; }  // seconds
  // The bytes in each bin; empty: the link was not used.
  const std::vector<double>& of(std::size_t link) const { return loads_[link]; }
  std::size_t links() const { return loads_.size(); }

  // The bin of a time, for which there is room afterwards.
  std::size_t bin_of(double time) {
    while (time >= width_ * static_cast<double>(bins_)) widen();
    return static_cast<std::size_t>(time / width_);
  }

  // What a pair has moved in one bin and has not been added to its links yet.
  struct Pending {
    double bytes = 0.0;
    double middle = 0.0;  // seconds, of the bin
    double end = 0.0;
  };
  Pending& pending(std::size_t pair) {
    if (pair >= pending_.size()) pending_.resize(2 * pair + 16);
    return pending_[pair];
  }
  std::size_t pairs() const { return pending_.size(); }

 private:
  void widen();

  std::size_t bins_;
  double width_ = 0x1p-20;                  // a power of two: the bounds of bins are exact
  std::vector<std::vector<double>> loads_;  // of each link
  std::vector<Pending> pending_;            // of each pair
};

}  // namespace tisim
