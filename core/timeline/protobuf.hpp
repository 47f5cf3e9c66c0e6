// The wire format of protocol buffers: fields as numbers, a tag before each.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tisim {

// A message that is being written.
class ProtoMessage {
 public:
  ProtoMessage& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& fixed(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1U);
    raw(value);
    return *this;
  }
  ProtoMessage& real(std::uint32_t field, double value) {
    varint(std::uint64_t{field} << 3 | 1U);
    raw(value);
    return *this;
  }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) {
    return text(field, value.bytes_);
  }

  void clear() { bytes_.clear(); }
  std::string_view view() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    while (value >= 128) {
      bytes_ += static_cast<char>(value | 128U);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }
  template <class Value>
  void raw(Value value) {  // little-endian, as the machines that tisim runs on
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof value);
  }

  std::string bytes_;
};

}  // namespace tisim
