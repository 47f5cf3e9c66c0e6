// Numbers as bytes: fixed ones in little endian, and varints, seven bits a byte, low bits first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tisim {
namespace tit {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <class Number>
void put_fixed(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

// Small numbers of either sign as small ones without.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

}  // namespace tit
}  // namespace tisim
