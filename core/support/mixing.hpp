// Mixes numbers into hashes.
#pragma once

#include <cstdint>

namespace tisim {

// The hash depends only on the bits in which the two differ: mix a constant into one of two small
// numbers first.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = (a ^ b) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 32);
}

}  // namespace tisim
