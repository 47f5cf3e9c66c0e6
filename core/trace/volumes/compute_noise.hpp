// Random variability of compute volumes: what a rank computes is a little more or less each time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// Each volume is multiplied by a log-normal factor of mean 1 and standard deviation `variation`:
// exp(s z - s^2 / 2) with s^2 = log(1 + variation^2). z depends on the seed, the rank and the
// number of the computation in the rank's trace alone, not on what was drawn before (a random
// access to the stream of SplitMix64, Steele, Lea & Flood, OOPSLA 2014; a normal deviate from two
// of its numbers, Box & Muller, Ann. Math. Stat. 29, 1958). So it is the same however the trace is
// read, whatever the platform, and with another variation.
struct ComputeNoise {
  double variation = 0.0;
  std::uint64_t seed = 0;

  bool operator==(const ComputeNoise&) const = default;
};

// The noise of one rank, as its trace is read from the first operation on.
class ComputeNoiseStream {
 public:
  ComputeNoiseStream() = default;
  ComputeNoiseStream(const ComputeNoise& noise, std::int32_t rank);

  bool is_on() const { return spread_ > 0.0; }
  // Multiplies the volumes among the rank's next operations.
  void apply(Op* ops, std::size_t count);

 private:
  double next_factor();

  double spread_ = 0.0;  // of the logarithm
  std::uint64_t key_ = 0;
  std::uint64_t drawn_ = 0;
};

}  // namespace tisim
