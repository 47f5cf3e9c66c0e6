#include "trace/volume_adjustments.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace tisim {

namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

// The output function of SplitMix64: every bit of the argument changes half of the result bits.
std::uint64_t split_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// In (0, 1), from the upper 52 bits.
double fraction(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52; }

}  // namespace

ComputeNoiseStream::ComputeNoiseStream(const ComputeNoise& noise, std::int32_t rank)
    : spread_(std::sqrt(std::log1p(noise.variation * noise.variation))),
      key_(split_mix(split_mix(noise.seed + kGolden) +
                     kGolden * (static_cast<std::uint64_t>(rank) + 1))) {}

void ComputeNoiseStream::apply(Op* ops, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (ops[i].kind == Kind::compute) ops[i].amount *= next_factor();
  }
}

double ComputeNoiseStream::next_factor() {
  const double u = fraction(split_mix(key_ + kGolden * ++drawn_));
  const double v = fraction(split_mix(key_ + kGolden * ++drawn_));
  const double z = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  return std::exp(spread_ * (z - spread_ / 2.0));
}

double LocationTracker::advance_to(const Speedups& speedups, std::string_view file,
                                   std::string_view line) {
  const std::string_view name = file.substr(file.find_last_of('/') + 1);
  const std::string before = std::exchange(location_, std::string(name).append(":").append(line));
  const std::string whole =
      std::exchange(full_location_, std::string(file).append(":").append(line));
  auto speedup = speedups.find(before + ":" + location_);
  if (speedup == speedups.end()) speedup = speedups.find(whole + ":" + full_location_);
  return speedup == speedups.end() ? 1.0 : speedup->second;
}

// The flops of a reduction belong to its call and are not adjusted.
void SpeedupStream::apply(Op* ops, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Op& op = ops[i];
    if (op.kind == Kind::nop && (op.flags & kHasLocation) != 0) {
      const Call& call = (*calls_)[static_cast<std::uint32_t>(op.call)];
      speedup_ = tracker_.advance_to(*speedups_, call.words[0], call.words[1]);
      op.flags &= static_cast<std::uint8_t>(~kHasLocation);
      op.bytes = 0;
    } else if (op.kind == Kind::compute && (op.flags & kContinuation) == 0) {
      op.amount /= speedup_;
    }
  }
}

}  // namespace tisim
