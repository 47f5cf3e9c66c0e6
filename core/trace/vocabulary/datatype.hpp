// Widths of the types that a trace names by number.
#pragma once

#include <array>
#include <cstdint>

namespace tisim {

inline constexpr std::int64_t kLostType = -1;  // a derived type whose size the tracer lost
inline constexpr std::uint8_t kNoType = 255;

// Bytes of the types 0 to 59 (SimGrid's ids, in its order of declaration), kNoType from 60 on.
inline constexpr std::array<std::uint8_t, 64> kTypeWidth = {
    8,       4,       1,       2,      8,  4,
    1,       8,       1,       1,  // double int char short long float byte llong schar uchar
    2,       4,       8,       8,      16, 4,
    1,       1,       2,       4,  // ushort unsigned ulong ullong ldouble wchar bool int8-32
    8,       1,       2,       4,      8,  8,
    16,      32,      8,       8,  // int64 uint8-64 complex of float, double, ldouble; aint
    8,       16,      16,      8,      8,  8,
    16,      16,      4,       4,  // pairs for MAXLOC; real, real4
    8,       16,      8,       16,     16, 4,
    2,       4,       8,       16,  // real8 real16 complex8-32 integer1-16
    32,      1,       8,       16,     32, 0,
    0,       1,       8,       8,  // ldouble_int, C++ types, UB, LB, packed, pointer, count
    kNoType, kNoType, kNoType, kNoType};

// kNoType if there is no such type; the lost type counts as 0 bytes.
constexpr std::uint8_t type_width(std::int64_t id) {
  if (id == kLostType) return 0;
  return id < 0 || id >= 64 ? kNoType : kTypeWidth[static_cast<std::size_t>(id)];
}

inline constexpr std::uint8_t kByteWidth = 1;    // the default type
inline constexpr std::uint8_t kDoubleWidth = 8;  // the default type after `init` with an argument

}  // namespace tisim
