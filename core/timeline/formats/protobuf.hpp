// The wire format of protocol buffers: fields as numbers, a tag before each.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace tisim {

// A message that is being written, from its end to its beginning: so the length of what it
// contains is known when it is its turn. Fields may stand in any order.
class ProtoMessage {
 public:
  ProtoMessage& number(std::uint32_t field, std::uint64_t value) {
    reserve();
    varint(value);
    varint(std::uint64_t{field} << 3);
    return *this;
  }
  ProtoMessage& fixed(std::uint32_t field, std::uint64_t value) { return eight(field, value); }
  ProtoMessage& real(std::uint32_t field, double value) { return eight(field, value); }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    const std::size_t before = size();
    bytes(value);
    return enclose(field, before);
  }
  ProtoMessage& bytes(std::string_view value) {
    reserve(value.size());
    begin_ -= value.size();
    std::memcpy(bytes_.get() + begin_, value.data(), value.size());
    return *this;
  }

  // Makes a message, a field of another, of all that was written since there were `before` bytes.
  ProtoMessage& enclose(std::uint32_t field, std::size_t before) {
    reserve();
    varint(size() - before);
    varint(std::uint64_t{field} << 3 | 2U);
    return *this;
  }

  std::size_t size() const { return capacity_ - begin_; }
  std::string_view view() const { return {bytes_.get() + begin_, size()}; }
  void clear() { begin_ = capacity_; }

 private:
  template <class Value>
  ProtoMessage& eight(std::uint32_t field, Value value) {
    reserve();
    begin_ -= sizeof value;  // little-endian, as the machines that tisim runs on
    std::memcpy(bytes_.get() + begin_, &value, sizeof value);
    varint(std::uint64_t{field} << 3 | 1U);
    return *this;
  }
  void varint(std::uint64_t value) {
    std::size_t count = 1;
    for (std::uint64_t rest = value >> 7; rest != 0; rest >>= 7) ++count;
    begin_ -= count;
    char* out = bytes_.get() + begin_;
    for (; value >= 128; value >>= 7) *out++ = static_cast<char>(value | 128U);
    *out = static_cast<char>(value);
  }
  // Room for two numbers and `count` bytes.
  void reserve(std::size_t count = 0) {
    if (begin_ < count + 20) grow(count + 20);
  }
  void grow(std::size_t count) {
    const std::size_t capacity = 2 * capacity_ + count + 256;
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size() > 0) std::memcpy(larger.get() + capacity - size(), view().data(), size());
    begin_ = capacity - size();
    capacity_ = capacity;
    bytes_ = std::move(larger);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // of what has been written
};

}  // namespace tisim
