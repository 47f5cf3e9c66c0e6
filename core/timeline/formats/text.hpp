// Bytes that a listener has written and that have not been taken yet.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "timeline/playback.hpp"

namespace tisim {

// The bytes of a vector or span of plain numbers or structs.
template <class Values>
std::string_view bytes_of(const Values& values) {
  return {reinterpret_cast<const char*>(std::data(values)),
          std::size(values) * sizeof *std::data(values)};
}

class Text {
 public:
  Text& operator<<(std::string_view text) {
    if (text.empty()) return *this;  // its data may be null
    std::memcpy(room(text.size()), text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  Text& operator<<(char c) {
    *room(1) = c;
    ++used_;
    return *this;
  }
  Text& operator<<(std::int64_t number) { return convert(number); }
  Text& operator<<(std::int32_t number) { return convert(number); }
  Text& operator<<(std::uint32_t number) { return convert(number); }
  // The shortest decimal that reads back as the same number.
  Text& operator<<(double number) { return convert(number); }

  // Seconds with `kDigits` digits after the point.
  template <int kDigits = 9>
  Text& seconds(double time) {
    constexpr std::int64_t kUnit = kDigits == 9 ? 1'000'000'000 : 1'000'000'000'000;
    static_assert(kDigits == 9 || kDigits == 12);
    if (!(std::abs(time) * static_cast<double>(kUnit) < 9e18)) return *this << time;
    const std::int64_t units = std::llround(time * static_cast<double>(kUnit));
    if (units < 0) *this << '-';
    const std::int64_t size = std::abs(units);
    *this << size / kUnit << '.';
    char* digits = room(kDigits);
    std::int64_t part = size % kUnit;
    for (int i = kDigits - 1; i >= 0; --i, part /= 10)
      digits[i] = static_cast<char>('0' + part % 10);
    used_ += kDigits;
    return *this;
  }

  // The bytes of a plain struct.
  template <class Row>
  void raw(const Row& row) {
    std::memcpy(room(sizeof row), &row, sizeof row);
    used_ += sizeof row;
  }

  // Seven bits a byte, low bits first; the high bit marks that more bytes follow.
  Text& varint(std::uint64_t number) {
    char* to = room(10);
    for (; number >= 0x80; number >>= 7, ++used_) {
      *to++ = static_cast<char>((number & 0x7fU) | 0x80U);
    }
    *to = static_cast<char>(number);
    ++used_;
    return *this;
  }
  // Overwrites bytes already written.
  void overwrite(std::size_t at, std::string_view bytes) {
    std::memcpy(bytes_.get() + at, bytes.data(), bytes.size());
  }

  std::size_t size() const { return used_; }
  std::string_view view() const { return {bytes_.get(), used_}; }
  void clear() { used_ = 0; }
  void shorten(std::size_t size) { used_ = size; }

 private:
  template <class Number>
  Text& convert(Number number) {
    constexpr std::size_t kMaxChars = 32;
    char* first = room(kMaxChars);
    used_ += static_cast<std::size_t>(std::to_chars(first, first + kMaxChars, number).ptr - first);
    return *this;
  }

  // Reserves the next `count` bytes and returns their address.
  char* room(std::size_t count) {
    if (used_ + count > capacity_) grow(count);
    return bytes_.get() + used_;
  }

  void grow(std::size_t count) {
    capacity_ = std::max(2 * capacity_, used_ + count + 65536);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    if (used_ > 0) std::memcpy(larger.get(), bytes_.get(), used_);
    bytes_ = std::move(larger);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t used_ = 0;
  std::size_t capacity_ = 0;
};

// A listener whose output is a sequence of bytes.
class Writer : public Listener {
 public:
  // The bytes written and not cleared; `last`: nothing more will be recorded.
  virtual std::string_view written(bool /*last*/) { return text_.view(); }
  void clear() { text_.clear(); }

 protected:
  Text text_;
};

}  // namespace tisim
