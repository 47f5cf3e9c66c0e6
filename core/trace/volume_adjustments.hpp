// Random variability of compute volumes: each computation varies slightly around its volume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/reader.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// Each volume is multiplied by a log-normal factor of mean 1 and standard deviation `variation`:
// exp(s z - s^2 / 2) with s^2 = log(1 + variation^2). z depends only on the seed, the rank and the
// index of the computation in the rank's trace, not on earlier draws (random access to the stream
// of SplitMix64, Steele, Lea & Flood, OOPSLA 2014; a normal deviate from two of its numbers, Box &
// Muller, Ann. Math. Stat. 29, 1958). So z does not depend on the way the trace is read, on the
// platform or on the variation.
struct ComputeNoise {
  double variation = 0.0;
  std::uint64_t seed = 0;

  bool operator==(const ComputeNoise&) const = default;
};

// The noise of one rank, whose trace is read from the first operation on.
class ComputeNoiseStream {
 public:
  ComputeNoiseStream() = default;
  ComputeNoiseStream(const ComputeNoise& noise, std::int32_t rank);

  bool is_on() const { return spread_ > 0.0; }
  // Multiplies the volumes in the rank's next operations.
  void apply(Op* ops, std::size_t count);

 private:
  double next_factor();

  double spread_ = 0.0;  // standard deviation of the logarithm
  std::uint64_t key_ = 0;
  std::uint64_t drawn_ = 0;
};

// Computations between two calls that are faster or slower than in the trace, as in SimGrid's
// smpi/comp-adjustment-file.

// Keyed by `file:line:file:line` of the two calls.
using Speedups = std::unordered_map<std::string, double>;

// Tracks the source locations of a rank's calls from the `location` lines of its trace.
class LocationTracker {
 public:
  // Moves to the next call; returns the speedup of the code between the previous one and it.
  double advance_to(const Speedups& speedups, std::string_view file, std::string_view line);

 private:
  // Keys name files without their directories, or as in the trace.
  std::string location_, full_location_;
};

// Divides the volumes of computations by the speedup of their place.
class SpeedupStream {
 public:
  // Both must outlive the stream. The operations must have been read with
  // TraceGrammar::keeps_locations, into `calls`.
  SpeedupStream(const Speedups& speedups, const CallTable& calls)
      : speedups_(&speedups), calls_(&calls) {}

  void apply(Op* ops, std::size_t count);

 private:
  const Speedups* speedups_;
  const CallTable* calls_;
  LocationTracker tracker_;
  double speedup_ = 1.0;
};

// Redrawn volumes of an extrapolated trace: each fitted volume is multiplied by a factor.

// Keyed by the volume in the trace. Equal volumes were fitted alike.
using VolumeFactors = std::unordered_map<double, double>;

// The flops of a reduction belong to its call and are not changed.
inline void multiply_volumes(const VolumeFactors& factors, Op* ops, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (ops[i].kind != Kind::compute || (ops[i].flags & kContinuation) != 0) continue;
    const auto factor = factors.find(ops[i].amount);
    if (factor != factors.end()) ops[i].amount *= factor->second;
  }
}

// A reader that adjusts the volumes of computations: noise, speedups, redrawn volumes.

// Decorates any reader. Factors are applied first, because they are keyed by the trace's volumes,
// then speedups, then the noise of the real computation. `factors` must outlive the reader.
class AdjustedReader final : public ReaderDecorator {
 public:
  AdjustedReader(std::unique_ptr<RankReader> reader, const ComputeNoiseStream& noise,
                 std::optional<SpeedupStream> speedups, const VolumeFactors& factors)
      : ReaderDecorator(std::move(reader)),
        noise_(noise),
        speedups_(std::move(speedups)),
        factors_(factors) {}

  std::size_t read(Op* out, std::size_t capacity) override {
    const std::size_t count = decorated().read(out, capacity);
    if (!factors_.empty()) multiply_volumes(factors_, out, count);
    if (speedups_) speedups_->apply(out, count);
    if (noise_.is_on()) noise_.apply(out, count);
    return count;
  }

 private:
  ComputeNoiseStream noise_;
  std::optional<SpeedupStream> speedups_;
  const VolumeFactors& factors_;
};

}  // namespace tisim
