// Levels found before: a level that differs from one of them only by rounding is replaced by it.
//
// Identical links saturate at one level, but sums in different orders round it differently. Within
// one filling they are grouped; parts filled separately find the level here. Identical flows then
// end at the same instant, as they do if everything is solved together.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tisim::max_min {

class KnownLevels {
 public:
  // Returns a known level equal up to rounding, or adds this one and returns it.
  double find_or_add(double level) {
    const std::uint64_t key = (std::bit_cast<std::uint64_t>(level) + kHalf) >> kRounded;
    for (const std::uint64_t near : {key, key - 1, key + 1}) {
      const Known& known = at(near);
      if (known.key == near) return known.level;
    }
    at(key) = {key, level};
    return level;
  }

 private:
  struct Known {
    std::uint64_t key = 0;
    double level = 0.0;
  };
  // Number of low bits ignored: 2^-42 of a level, as in `tolerance::kSameSaturation`.
  static constexpr int kRounded = 10;
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << (kRounded - 1);

  Known& at(std::uint64_t key) { return known_[key % known_.size()]; }

  std::array<Known, 4096> known_{};
};

}  // namespace tisim::max_min
