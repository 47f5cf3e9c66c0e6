#include "trace/tit/codec/bytes.hpp"

#include <array>
#include <cstring>

namespace tisim::tit {

void ByteReader::too_short() { throw FormatError("the bytes end too early"); }

void ByteReader::too_large(std::uint64_t value, std::uint64_t most, const char* what) {
  throw FormatError(std::string(what) + " is " + std::to_string(value) + ", but at most " +
                    std::to_string(most) + " is possible");
}

namespace {

// tables[k][b]: effect of byte b on the checksum when k more bytes follow it, so that eight bytes
// are processed at once ("slicing by eight").
struct Tables {
  std::array<std::array<std::uint32_t, 256>, 8> of{};

  constexpr Tables() {
    constexpr std::uint32_t kPolynomial = 0x82f63b78U;  // reflected
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
      of[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
      for (std::size_t byte = 0; byte < 256; ++byte) {
        of[k][byte] = (of[k - 1][byte] >> 8) ^ of[0][of[k - 1][byte] & 0xff];
      }
    }
  }
};

constexpr Tables kTables;

}  // namespace

std::uint32_t crc32c(const char* data, std::size_t size) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (; size >= 8; size -= 8, data += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, data, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    bytes ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables.of[7 - k][(bytes >> (8 * k)) & 0xff];
  }
  for (; size > 0; --size, ++data) {
    crc = (crc >> 8) ^ kTables.of[0][(crc ^ static_cast<unsigned char>(*data)) & 0xff];
  }
  return ~crc;
}

}  // namespace tisim::tit
