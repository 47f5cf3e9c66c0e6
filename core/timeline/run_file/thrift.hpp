// The compact protocol of Thrift, in which Parquet writes what it says of its columns.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/formats/text.hpp"

namespace tisim {

// Writes one struct. Fields stand in the order of their numbers, which differ by less than 16.
class ThriftWriter {
 public:
  enum class Type : std::uint8_t {
    yes = 1,
    no = 2,
    int32 = 5,
    int64 = 6,
    binary = 8,
    list = 9,
    structure = 12
  };

  explicit ThriftWriter(Text& to) : to_(to), last_{0} {}

  ThriftWriter& int32(int field, std::int32_t value) { return number(field, Type::int32, value); }
  ThriftWriter& int64(int field, std::int64_t value) { return number(field, Type::int64, value); }
  ThriftWriter& truth(int field, bool value) { return header(field, value ? Type::yes : Type::no); }
  ThriftWriter& binary(int field, std::string_view value) {
    header(field, Type::binary);
    return element(value);
  }
  // Begins a struct that is a field; `end` ends it.
  ThriftWriter& begin(int field) {
    header(field, Type::structure);
    return begin();
  }
  ThriftWriter& end() {
    to_ << '\0';
    last_.pop_back();
    return *this;
  }
  // Begins a list, whose elements follow: `size` calls of `element`, or of `begin` and `end`.
  ThriftWriter& list(int field, Type type, std::size_t size) {
    header(field, Type::list);
    const auto kind = static_cast<unsigned>(type);
    if (size < 15) return byte(static_cast<unsigned>(size) << 4 | kind);
    byte(15U << 4 | kind);
    return varint(size);
  }
  ThriftWriter& begin() {
    last_.push_back(0);
    return *this;
  }
  ThriftWriter& element(std::int64_t value) {
    return varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  ThriftWriter& element(std::string_view value) {
    varint(value.size());
    to_ << value;
    return *this;
  }

 private:
  ThriftWriter& number(int field, Type type, std::int64_t value) {
    header(field, type);
    return element(value);
  }
  ThriftWriter& header(int field, Type type) {
    const int step = field - last_.back();
    last_.back() = field;
    return byte(static_cast<unsigned>(step) << 4 | static_cast<unsigned>(type));
  }
  ThriftWriter& varint(std::uint64_t value) {
    to_.varint(value);
    return *this;
  }
  ThriftWriter& byte(unsigned value) {
    to_ << static_cast<char>(value);
    return *this;
  }

  Text& to_;
  std::vector<int> last_;  // number of the last field of each open struct
};

}  // namespace tisim
