// The load of each link over time, recorded on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/system.hpp"
#include "support/time_bins.hpp"

namespace tisim {

// Adds up what the flows of each pair move. Most often they have moved it within one bin, and the
// links need not be looked at before the next one begins.
class LoadRecorder {
 public:
  LoadRecorder(const max_min::System& system, std::size_t bins)
      : system_(system), load_(system.constraints(), bins) {}

  // The flows of a pair have had a share, in bytes/s, since some time.
  void charge(std::int32_t pair, double share, double since, double now);

  // The load charged so far.
  const TimeBins& load();

 private:
  // Bytes that a pair has moved in one bin and that its links do not count yet.
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
  TimeBins load_;
  std::vector<Pending> pending_;  // of each pair
};

}  // namespace tisim
