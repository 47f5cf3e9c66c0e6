// Small random differences of starts and sizes, drawn with a seed (tisim/jitter-start, -size).
//
// Real ranks never start at one instant, and no two messages take exactly the same time. A
// simulation that is perfectly symmetric can therefore take a course that no real run takes.
#pragma once

#include <cstdint>

#include "platform/model.hpp"
#include "support/number_index.hpp"

namespace tisim {

class Jitter {
 public:
  explicit Jitter(const Model& model) : model_(model) {}

  // Seconds that the next rank starts later.
  double start() { return model_.jitter_start > 0 ? model_.jitter_start * draw() : 0.0; }
  // The bytes that the next message moves, which nominally are so many.
  double size(double bytes) {
    if (model_.jitter_size <= 0) return bytes;
    return bytes * (1 + model_.jitter_size * (2 * draw() - 1));
  }

 private:
  // From 0 up to 1, the same numbers for the same seed.
  double draw() {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;  // splitmix64
    const std::uint64_t stream = hash_of(model_.jitter_seed + 1);
    return static_cast<double>(hash_of(stream + ++drawn_ * kGoldenRatio) >> 11) * 0x1p-53;
  }

  const Model& model_;
  std::uint64_t drawn_ = 0;
};

}  // namespace tisim
