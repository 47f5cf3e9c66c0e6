#include "trace/volumes/compute_noise.hpp"

#include <cmath>
#include <numbers>

namespace tisim {

namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

// The output function of SplitMix64: every bit of the argument changes half of the result's.
std::uint64_t split_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Above 0 and below 1, from the upper 52 bits.
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

}  // namespace tisim
