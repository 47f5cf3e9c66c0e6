// Numbers as bytes, and what reads them back without exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/tit/codec/numbers.hpp"

namespace tisim {

using tit::put_fixed;
using tit::put_varint;
using tit::unzigzag;
using tit::zigzag;

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
