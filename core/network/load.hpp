// The load of each link over time, recorded on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/system.hpp"
#include "support/time_bins.hpp"

namespace tisim {

// Sums the bytes moved by the flows of each pair. Usually they all fall into one bin, and the links
// need not be updated before the next bin.
class LoadRecorder {
 public:
  LoadRecorder(const max_min::System& system, std::size_t bins)
      : system_(system), load_(system.constraints(), bins) {}

  // The flows of a pair have had a share, bytes/s, since a date.
  void charge(std::int32_t pair, double share, double since, double now);

  // Returns the load recorded so far.
  const TimeBins& load();

 private:
  // Bytes that a pair moved within one bin, not added to its links yet.
  struct Pending {
    double bytes = 0.0;
    double middle = 0.0;  // middle of the bin, seconds
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
  std::vector<Pending> pending_;  // by pair
};

}  // namespace tisim
