// Numbers as bytes: fixed ones in little endian, and varints, seven bits a byte, low bits first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tisim {

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

// Takes numbers off the front of some bytes. What is asked for beyond their end is 0, and said by
// failed().
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  bool failed() const { return failed_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const char* position() const { return at_; }

  std::uint8_t byte() {
    if (at_ == end_) {
      failed_ = true;
      return 0;
    }
    return static_cast<std::uint8_t>(*at_++);
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  template <class Number>
  Number fixed() {
    Number value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
      value = static_cast<Number>(value | (static_cast<Number>(byte()) << (8 * i)));
    }
    return value;
  }

  std::string_view bytes(std::uint64_t count) {
    if (count > left()) {
      failed_ = true;
      count = 0;
    }
    const std::string_view taken(at_, static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }

  // A number of bytes and then the bytes.
  std::string_view text() { return bytes(varint()); }

 private:
  const char* at_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace tisim
