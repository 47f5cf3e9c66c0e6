// Levels that were found before, so that one which differs by rounding only is the same.
//
// Links that are alike saturate at one level, which sums in different orders round differently.
// Within one filling they are grouped; parts that are filled one after the other find the level
// here. Flows that are alike then end at one instant, as they do where everything is solved at
// once.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tisim::max_min {

class KnownLevels {
 public:
  // The level that is known and equal but for rounding, or this one, which is known from now on.
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
  // The last bits of a level: 2^-42 of it, as `tolerance::kSameSaturation`.
  static constexpr int kRounded = 10;
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << (kRounded - 1);

  Known& at(std::uint64_t key) { return known_[key % known_.size()]; }

  std::array<Known, 4096> known_{};
};

}  // namespace tisim::max_min
