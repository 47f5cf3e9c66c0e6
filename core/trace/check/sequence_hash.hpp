// A hash of a sequence of numbers; repetitions of a sequence are added in one step.
#pragma once

#include <cstdint>
#include <span>

#include "support/mixing.hpp"

namespace tisim {

// A polynomial modulo 2^61 - 1. Adding numbers applies an affine map; maps are composed, and their
// powers are computed by squaring.
class SequenceHash {
 public:
  void add(std::uint64_t number) { value_ = sum(product(value_, kBase), digit(number)); }

  // Equivalent to adding the sequence of numbers `times` times.
  void add_repeated(std::span<const std::uint64_t> numbers, std::uint64_t times) {
    std::uint64_t factor = 1;
    std::uint64_t summand = 0;
    for (const std::uint64_t number : numbers) {
      factor = product(factor, kBase);
      summand = sum(product(summand, kBase), digit(number));
    }
    for (; times > 0; times >>= 1) {
      if ((times & 1) != 0) value_ = sum(product(value_, factor), summand);
      summand = sum(product(summand, factor), summand);
      factor = product(factor, factor);
    }
  }

  friend bool operator==(const SequenceHash&, const SequenceHash&) = default;

 private:
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
  static constexpr std::uint64_t kBase = 0x1e3779b97f4a7c15U;  // below the prime

  static std::uint64_t reduced(std::uint64_t value) {
    value = (value & kPrime) + (value >> 61);
    return value >= kPrime ? value - kPrime : value;
  }
  // Never 0, so that every number changes the hash.
  static std::uint64_t digit(std::uint64_t number) { return reduced(mixed(number, 1)) | 1; }
  static std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return reduced(a + b); }
  static std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide wide = Wide{a} * b;
    return reduced(static_cast<std::uint64_t>(wide & kPrime) +
                   static_cast<std::uint64_t>(wide >> 61));
  }

  std::uint64_t value_ = 0;
};

}  // namespace tisim
