#include "timeline/run_file/encodings.hpp"

#include <array>
#include <type_traits>

namespace tisim {

namespace {

// Packs numbers of a fixed number of bits, the lowest bits first.
class BitPacker {
 public:
  explicit BitPacker(Text& to) : to_(to) {}
  void put(std::uint64_t value, unsigned bits) {
    waiting_ |= value << used_;
    used_ += bits;
    if (used_ < 64) return;
    to_.raw(waiting_);
    used_ -= 64;
    waiting_ = used_ > 0 ? value >> (bits - used_) : 0;
  }
  void flush() {
    for (; used_ > 0; used_ -= std::min(used_, 8U)) {
      to_ << static_cast<char>(waiting_ & 0xffU);
      waiting_ >>= 8;
    }
  }

 private:
  Text& to_;
  std::uint64_t waiting_ = 0;
  unsigned used_ = 0;  // bits of it
};

// Numbers that differ are packed in groups of so many; a shorter run of the same number is not
// worth its header.
constexpr std::size_t kPackedGroup = 8;

void write_packed(Text& to, std::span<const std::uint32_t> values, unsigned bits) {
  if (values.empty()) return;
  const std::size_t groups = (values.size() + kPackedGroup - 1) / kPackedGroup;
  to.varint(groups << 1 | 1U);
  BitPacker packer(to);
  for (const std::uint32_t value : values) packer.put(value, bits);
  for (std::size_t rest = values.size(); rest < groups * kPackedGroup; ++rest) packer.put(0, bits);
  packer.flush();
}

// Blocks and their parts of differences.
constexpr std::size_t kDeltas = 128;
constexpr std::size_t kParts = 4;
constexpr std::size_t kOfPart = kDeltas / kParts;

template <class Value>
void write_all_deltas(Text& to, std::span<const Value> values) {
  using Signed = std::make_signed_t<Value>;
  const auto signed_number = [&to](Value value) {
    const auto wide = static_cast<std::int64_t>(static_cast<Signed>(value));
    to.varint(static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
  };
  to.varint(kDeltas);
  to.varint(kParts);
  to.varint(values.size());
  signed_number(values.empty() ? 0 : values[0]);
  std::array<Value, kDeltas> deltas{};
  for (std::size_t at = 1; at < values.size(); at += kDeltas) {
    const std::size_t count = std::min(kDeltas, values.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      deltas[i] = static_cast<Value>(values[at + i] - values[at + i - 1]);
    }
    const Value least = *std::min_element(
        deltas.begin(), deltas.begin() + static_cast<std::ptrdiff_t>(count),
        [](Value a, Value b) { return static_cast<Signed>(a) < static_cast<Signed>(b); });
    signed_number(least);
    std::array<unsigned, kParts> widths{};
    for (std::size_t i = 0; i < kDeltas; ++i) {
      deltas[i] = i < count ? static_cast<Value>(deltas[i] - least) : 0;
      const auto width = static_cast<unsigned>(std::bit_width(deltas[i]));
      widths[i / kOfPart] = std::max(widths[i / kOfPart], width);
    }
    for (const unsigned width : widths) to << static_cast<char>(width);
    for (std::size_t part = 0; part < kParts && part * kOfPart < count; ++part) {
      if (widths[part] == 0) continue;
      BitPacker packer(to);
      for (std::size_t i = 0; i < kOfPart; ++i) {
        packer.put(deltas[part * kOfPart + i], widths[part]);
      }
      packer.flush();
    }
  }
}

}  // namespace

void write_hybrid(Text& to, std::span<const std::uint32_t> values, unsigned bits) {
  std::size_t packed = 0;  // from here on values wait to be packed
  for (std::size_t at = 0; at < values.size();) {
    std::size_t stop = at + 1;
    while (stop < values.size() && values[stop] == values[at]) ++stop;
    if (stop - at < kPackedGroup) {
      at = std::min(at + kPackedGroup, values.size());  // a whole group, unless it is the last one
      continue;
    }
    write_packed(to, values.subspan(packed, at - packed), bits);
    to.varint((stop - at) << 1);
    for (unsigned byte = 0; byte < bits; byte += 8) {
      to << static_cast<char>(values[at] >> byte & 0xffU);
    }
    packed = at = stop;
  }
  write_packed(to, values.subspan(packed), bits);
}

void write_deltas(Text& to, std::span<const std::uint32_t> values) { write_all_deltas(to, values); }

void write_deltas(Text& to, std::span<const std::uint64_t> values) { write_all_deltas(to, values); }

}  // namespace tisim
