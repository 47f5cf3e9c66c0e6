// Tables in the Parquet format: Thrift metadata, encodings of columns, the file.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/formats/text.hpp"

namespace tisim {

// Thrift's compact protocol, the format of Parquet's metadata.

// Writes one struct. Fields must be in ascending order with steps below 16.
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
  ThriftWriter& boolean(int field, bool value) {
    return header(field, value ? Type::yes : Type::no);
  }
  ThriftWriter& binary(int field, std::string_view value) {
    header(field, Type::binary);
    return element(value);
  }
  // Begins a struct field; `end` ends it.
  ThriftWriter& begin(int field) {
    header(field, Type::structure);
    return begin();
  }
  ThriftWriter& end() {
    to_ << '\0';
    last_.pop_back();
    return *this;
  }
  // Begins a list; its elements follow: `size` calls of `element`, or of `begin` and `end`.
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

// Parquet's encodings for columns of repetitive or ascending numbers.

// Numbers of `bits` bits each, with runs of equal numbers stored once ("RLE"). Also used for
// definition levels, which mark missing values.
void write_hybrid(Text& to, std::span<const std::uint32_t> values, unsigned bits);

// Differences between consecutive numbers ("DELTA_BINARY_PACKED"). Numbers are bit patterns, signed
// or not: differences wrap around.
void write_deltas(Text& to, std::span<const std::uint32_t> values);
void write_deltas(Text& to, std::span<const std::uint64_t> values);

// The distinct values of a column, and the index of each row's value.
template <class Value>
class Distinct {
 public:
  // Returns true if there are at most `most`; otherwise the result is unusable.
  bool find(std::span<const Value> rows, std::size_t most);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<std::uint32_t>& indices() const { return indices_; }
  unsigned bits() const {
    return std::max(1U, static_cast<unsigned>(std::bit_width(values_.size() - 1)));
  }

 private:
  static constexpr std::uint32_t kFree = ~0U;
  std::vector<Value> values_;
  std::vector<std::uint32_t> indices_;
  std::vector<std::uint32_t> slots_;  // a hash table of indices into `values_`
};

template <class Value>
bool Distinct<Value>::find(std::span<const Value> rows, std::size_t most) {
  const auto log_slots = static_cast<int>(std::bit_width(2 * std::min(most, rows.size() + 1)));
  slots_.assign(std::size_t{1} << log_slots, kFree);
  const std::size_t mask = slots_.size() - 1;
  values_.clear();
  indices_.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Value value = rows[row];
    if (row > 0 && value == rows[row - 1]) {
      indices_[row] = indices_[row - 1];
      continue;
    }
    const std::uint64_t hash = std::uint64_t{value} * 0x9e3779b97f4a7c15U;
    auto slot = static_cast<std::size_t>(hash >> (64 - log_slots));
    while (slots_[slot] != kFree && values_[slots_[slot]] != value) slot = (slot + 1) & mask;
    if (slots_[slot] == kFree) {
      if (values_.size() == most) return false;
      slots_[slot] = static_cast<std::uint32_t>(values_.size());
      values_.push_back(value);
    }
    indices_[row] = slots_[slot];
  }
  return !rows.empty();
}

// Tables of numbers in Parquet (https://parquet.apache.org/docs/file-format/), without a library:
// loading one takes longer than writing most runs.

// Parquet's numbers.
enum class ParquetType : std::uint8_t { boolean = 0, int32 = 1, int64 = 2, real = 5 };
enum class ParquetMeaning : std::int8_t { plain = -1, uint8 = 11, uint16 = 12, uint32 = 13 };

struct ParquetColumn {
  const char* name;
  ParquetType type;
  ParquetMeaning meaning = ParquetMeaning::plain;
  bool is_optional = false;  // rows may lack a value
};

// Writes blocks (row groups) one after the other. Each column of a block is one uncompressed page,
// preceded by a dictionary of its values if they repeat.
class ParquetFile {
 public:
  explicit ParquetFile(std::vector<ParquetColumn> columns);

  // Adds the next column of a block: a value per row, as bit patterns.
  void add(std::span<const std::uint32_t> values);
  void add(std::span<const std::uint64_t> values);
  // Adds a column of ascending values, whose differences are small.
  void add_ascending(std::span<const std::uint32_t> values);
  void add_booleans(std::span<const std::uint32_t> values);
  // Adds real numbers that rarely repeat. `known`: 1 if a row has a value; empty: all have.
  void add_reals(std::span<const double> values, std::span<const std::uint32_t> known);
  // Call when all columns of a block have been added.
  void end_block(std::size_t rows);
  // Call when no block follows.
  void finish();

  std::size_t rows() const { return rows_; }
  // The bytes written and not cleared.
  std::string_view written() const { return text_.view(); }
  void clear();

 private:
  enum class Encoding : std::uint8_t { plain = 0, rle = 3, delta = 5, dictionary = 8 };
  struct Range {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    std::size_t missing = 0;
  };
  struct Chunk {
    std::size_t at, dictionary_at, size;  // bytes; dictionary_at 0: no dictionary
    Encoding encoding;
    Range range;
    bool has_range;
  };
  struct Block {
    std::size_t rows, size;
    std::vector<Chunk> chunks;
  };

  template <class Value>
  void add_repeating(std::span<const Value> values, Distinct<Value>& distinct);
  const ParquetColumn& column() const { return columns_[chunks_.size()]; }
  std::size_t offset() const { return before_ + text_.size(); }
  // Writes a page's header and `page_`, and clears it.
  void write_page(std::size_t values, Encoding encoding, bool is_dictionary);
  void end_chunk(std::size_t begin, std::size_t dictionary_size, Encoding encoding,
                 const Range* range);
  void write_footer();

  std::vector<ParquetColumn> columns_;
  std::vector<Block> blocks_;
  std::vector<Chunk> chunks_;  // of the current block
  std::size_t block_at_ = 0, rows_ = 0;
  std::size_t before_ = 0;  // bytes already taken
  Text text_, page_;
  Distinct<std::uint32_t> distinct_;
  Distinct<std::uint64_t> distinct_wide_;
  std::vector<double> values_;
};

}  // namespace tisim
