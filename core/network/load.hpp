// How much each link carries over time, for those who ask.
//
// Time is divided into equal bins. When a simulation outgrows them, two at a time become one, so
// that memory does not depend on how long it takes; within a bin the sums are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/system.hpp"

namespace tisim {

// The bytes of each link in each bin.
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

 private:
  void widen();

  std::size_t bins_;
  double width_ = 0x1p-20;                  // a power of two: the bounds of bins are exact
  std::vector<std::vector<double>> loads_;  // of each link
};

// Adds up what the flows of each pair move. Most often they have moved it within one bin, and the
// links need not be looked at before the next one begins.
class LoadRecorder {
 public:
  LoadRecorder(const max_min::System& system, std::size_t bins)
      : system_(system), load_(system.constraints(), bins) {}

  // The flows of a pair have had a share, in bytes/s, since some time.
  void charge(std::int32_t pair, double share, double since, double now);

  // What has been charged so far.
  const LinkLoad& load();

 private:
  // What a pair has moved in one bin and has not been added to its links yet.
  struct Pending {
    double bytes = 0.0;
    double middle = 0.0;  // seconds, of the bin
    double end = 0.0;
  };

  Pending& pending(std::int32_t pair) {
    const auto at = static_cast<std::size_t>(pair);
    if (at >= pending_.size()) pending_.resize(2 * at + 16);
    return pending_[at];
  }
  void add_to_links(std::int32_t pair);

  const max_min::System& system_;
  LinkLoad load_;
  std::vector<Pending> pending_;  // of each pair
};

}  // namespace tisim
