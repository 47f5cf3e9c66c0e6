// Hashes pairs of numbers.
#pragma once

#include <cstdint>

namespace tisim {

// The hash depends only on a ^ b: for two small numbers, mix a constant into one of them first.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = (a ^ b) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 32);
}

}  // namespace tisim
