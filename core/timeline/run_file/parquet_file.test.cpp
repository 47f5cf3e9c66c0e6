#include "timeline/run_file/parquet_file.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/test.hpp"

namespace tisim::test {

namespace {

std::string text_of(std::string_view view) { return std::string(view); }

// What a reader of the format makes of it.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::int64_t signed_varint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  std::uint64_t bits(unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i, ++bit_) {
      const auto byte = static_cast<std::uint8_t>(bytes_[at_ + bit_ / 8]);
      value |= std::uint64_t{byte >> bit_ % 8 & 1U} << i;
    }
    return value;
  }
  void skip_bits() {
    at_ += (bit_ + 7) / 8;
    bit_ = 0;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0, bit_ = 0;
};

std::vector<std::uint32_t> read_hybrid(std::string_view bytes, unsigned bits, std::size_t count) {
  BitReader reader(bytes);
  std::vector<std::uint32_t> values;
  while (!reader.at_end()) {
    const std::uint64_t header = reader.varint();
    if ((header & 1) == 0) {
      const auto value = static_cast<std::uint32_t>(reader.bits((bits + 7) / 8 * 8));
      values.insert(values.end(), header >> 1, value);
    } else {
      for (std::uint64_t i = 0; i < (header >> 1) * 8; ++i) {
        values.push_back(static_cast<std::uint32_t>(reader.bits(bits)));
      }
    }
    reader.skip_bits();
  }
  CHECK(values.size() >= count && values.size() < count + 8);
  values.resize(count);
  return values;
}

template <class Value>
std::vector<Value> read_deltas(std::string_view bytes) {
  BitReader reader(bytes);
  CHECK(reader.varint() == 128);
  CHECK(reader.varint() == 4);
  const std::uint64_t count = reader.varint();
  std::vector<Value> values{static_cast<Value>(reader.signed_varint())};
  while (values.size() < count) {
    const auto least = static_cast<Value>(reader.signed_varint());
    unsigned widths[4];
    for (unsigned& width : widths) {
      width = static_cast<unsigned>(reader.bits(8));
      reader.skip_bits();
    }
    for (const unsigned width : widths) {
      if (values.size() >= count) {
        CHECK(width == 0);
        continue;
      }
      for (int i = 0; i < 32; ++i) {
        const auto delta = static_cast<Value>(reader.bits(width));
        if (values.size() < count) {
          values.push_back(static_cast<Value>(values.back() + least + delta));
        }
      }
      reader.skip_bits();
    }
  }
  CHECK(reader.at_end());
  return values;
}

// Numbers that are the same every time.
std::vector<std::uint64_t> drawn(std::size_t count, std::uint64_t below) {
  std::vector<std::uint64_t> values;
  std::uint64_t state = 88172645463325252U;
  for (std::size_t i = 0; i < count; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    values.push_back(below == 0 ? state : state % below);
  }
  return values;
}

TEST("encodings: runs are written once, other numbers in groups of eight") {
  Text to;
  const std::vector<std::uint32_t> run(20, 3);
  write_hybrid(to, run, 2);
  CHECK(to.view() == std::string("\x28\x03"));
  to.clear();
  const std::vector<std::uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  write_hybrid(to, all, 3);
  CHECK(to.view() == std::string("\x03\x88\xc6\xfa"));  // the example of the format's documents
}

TEST("encodings: runs and groups come back, whatever follows what") {
  for (const std::uint64_t longest : {1, 3, 9, 30}) {
    for (const unsigned bits : {1U, 3U, 8U, 13U, 17U}) {
      std::vector<std::uint32_t> values;
      for (const std::uint64_t number : drawn(300, std::uint64_t{1} << bits)) {
        values.insert(values.end(), 1 + number % longest, static_cast<std::uint32_t>(number));
      }
      Text to;
      write_hybrid(to, values, bits);
      CHECK(read_hybrid(to.view(), bits, values.size()) == values);
    }
  }
}

TEST("encodings: differences come back, however large") {
  for (const std::size_t count : {1, 2, 33, 128, 129, 130, 700}) {
    for (const std::uint64_t below : {1, 7, 100000, 0}) {
      const std::vector<std::uint64_t> wide = drawn(count, below);
      Text to;
      write_deltas(to, wide);
      CHECK(read_deltas<std::uint64_t>(to.view()) == wide);
      std::vector<std::uint32_t> narrow;
      for (const std::uint64_t value : wide) narrow.push_back(static_cast<std::uint32_t>(value));
      to.clear();
      write_deltas(to, narrow);
      CHECK(read_deltas<std::uint32_t>(to.view()) == narrow);
    }
  }
}

TEST("encodings: distinct values have places in the order in which they come") {
  Distinct<std::uint64_t> distinct;
  const std::vector<std::uint64_t> rows{7, 7, ~std::uint64_t{0}, 0, 7};
  CHECK(distinct.find(rows, 3));
  CHECK(distinct.values() == std::vector<std::uint64_t>({7, ~std::uint64_t{0}, 0}));
  CHECK(distinct.places() == std::vector<std::uint32_t>({0, 0, 1, 2, 0}));
  CHECK(distinct.bits() == 2);
  CHECK(!distinct.find(rows, 2));
  CHECK(!distinct.find({}, 2));
}

TEST("thrift: fields, lists and structs in the compact protocol") {
  Text to;
  ThriftWriter writer(to);
  writer.int32(1, -1).int64(3, 300).truth(4, true).binary(5, "ab");
  writer.begin(6).int32(1, 1).end();
  writer.list(7, ThriftWriter::Type::int32, 2).element(std::int64_t{1}).element(std::int64_t{2});
  writer.end();
  CHECK(text_of(to.view()) == std::string("\x15\x01\x26\xd8\x04\x11\x18\x02"
                                          "ab\x1c\x15\x02\x00\x19\x25\x02\x04\x00",
                                          19));
}

}  // namespace

}  // namespace tisim::test
