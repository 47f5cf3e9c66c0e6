// Numbers and texts as bytes, with checks on reading; checksums. docs/tit.md describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tisim::tit {

// what() describes the problem without the name of the file, which the reader of the file adds.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Numbers as bytes: fixed ones in little endian, and varints, seven bits a byte, low bits first.

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <class Number>
void put_fixed(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

// Maps small numbers of either sign to small unsigned ones.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Writes numbers and texts as bytes.

struct Bytes {
  std::string data;

  void byte(std::uint8_t value) { data += static_cast<char>(value); }
  void varint(std::uint64_t value) { put_varint(data, value); }
  void zigzag(std::int64_t value) { put_varint(data, tit::zigzag(value)); }
  // Four bytes, the low one first.
  void fixed32(std::uint32_t value) { put_fixed(data, value); }
  // A size followed by the bytes.
  void text(std::string_view value) {
    varint(value.size());
    data.append(value.data(), value.size());
  }
};

// Takes numbers and texts off the front of a byte range, which must outlive it. Throws FormatError
// if the bytes end too early or are invalid.
class ByteReader {
 public:
  ByteReader(const char* begin, const char* end) : at_(begin), end_(end) {}
  explicit ByteReader(std::string_view bytes)
      : ByteReader(bytes.data(), bytes.data() + bytes.size()) {}

  bool at_end() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const char* position() const { return at_; }

  std::uint8_t byte() {
    if (at_ == end_) too_short();
    return static_cast<std::uint8_t>(*at_++);
  }

  // Accepts only the shortest form, so that equal numbers have equal bytes.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      if (shift == 63 && next > 1) break;
      value |= (next & 0x7f) << shift;
      if (next < 0x80) {
        if (next == 0 && shift > 0) break;
        return value;
      }
    }
    throw FormatError("a number is encoded incorrectly");
  }

  // A varint of at most `most`; `what` names it in the message.
  std::uint64_t at_most(std::uint64_t most, const char* what) {
    return checked(varint(), most, what);
  }

  // Number of entries that follow, each of at least `least_bytes` bytes: a malicious count cannot
  // request more memory than the bytes present.
  std::size_t count(const char* what, std::size_t least_bytes = 1) {
    const std::uint64_t value = varint();
    return static_cast<std::size_t>(checked(value, left() / least_bytes, what));
  }

  std::int64_t zigzag() { return unzigzag(varint()); }

  std::uint32_t fixed32() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
      value |= static_cast<std::uint32_t>(byte()) << shift;
    }
    return value;
  }

  std::string_view bytes(std::uint64_t size) {
    if (size > left()) too_short();
    const std::string_view taken(at_, static_cast<std::size_t>(size));
    at_ += size;
    return taken;
  }

  std::string_view text() { return bytes(varint()); }

 private:
  [[noreturn]] static void too_short();
  static std::uint64_t checked(std::uint64_t value, std::uint64_t most, const char* what) {
    if (value > most) too_large(value, most, what);
    return value;
  }
  [[noreturn]] static void too_large(std::uint64_t value, std::uint64_t most, const char* what);

  const char* at_;
  const char* end_;
};

// CRC-32C (Castagnoli), the checksum of packed traces.

std::uint32_t crc32c(const char* data, std::size_t size);

}  // namespace tisim::tit
