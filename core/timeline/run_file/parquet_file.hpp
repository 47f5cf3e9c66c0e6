// Tables of numbers in Parquet (https://parquet.apache.org/docs/file-format/), without a library:
// loading one takes longer than writing most runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "timeline/formats/text.hpp"
#include "timeline/run_file/encodings.hpp"

namespace tisim {

// As Parquet numbers them.
enum class ParquetType : std::uint8_t { boolean = 0, int32 = 1, int64 = 2, real = 5 };
enum class ParquetMeaning : std::int8_t { plain = -1, uint8 = 11, uint16 = 12, uint32 = 13 };

struct ParquetColumn {
  const char* name;
  ParquetType type;
  ParquetMeaning meaning = ParquetMeaning::plain;
  bool is_optional = false;  // rows may have no value
};

// Writes blocks (row groups) one after the other. Each column of a block is one page, not
// compressed; a dictionary of its values stands before it where they repeat.
class ParquetFile {
 public:
  explicit ParquetFile(std::vector<ParquetColumn> columns);

  // The next column of a block: as many values as the block has rows, as bit patterns.
  void add(std::span<const std::uint32_t> values);
  void add(std::span<const std::uint64_t> values);
  // One whose values follow one another: their differences are small.
  void add_ascending(std::span<const std::uint32_t> values);
  void add_truths(std::span<const std::uint32_t> values);
  // Real numbers that hardly repeat. `known`: 1 where a row has a value; empty: every one has.
  void add_reals(std::span<const double> values, std::span<const std::uint32_t> known);
  // All columns of a block have been added.
  void end_block(std::size_t rows);
  // No block follows.
  void finish();

  std::size_t rows() const { return rows_; }
  // What has been written and not been cleared.
  std::string_view written() const { return text_.view(); }
  void clear();

 private:
  enum class Encoding : std::uint8_t { plain = 0, rle = 3, delta = 5, dictionary = 8 };
  struct Range {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    std::size_t missing = 0;
  };
  struct Chunk {
    std::size_t at, dictionary_at, size;  // bytes; a dictionary at 0: there is none
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
  std::size_t place() const { return before_ + text_.size(); }
  // Writes a page's header and `page_`, which is empty then.
  void write_page(std::size_t values, Encoding encoding, bool is_dictionary);
  void end_chunk(std::size_t begin, std::size_t dictionary_size, Encoding encoding,
                 const Range* range);
  void write_footer();

  std::vector<ParquetColumn> columns_;
  std::vector<Block> blocks_;
  std::vector<Chunk> chunks_;  // of the block that is being written
  std::size_t block_at_ = 0, rows_ = 0;
  std::size_t before_ = 0;  // bytes that have been taken
  Text text_, page_;
  Distinct<std::uint32_t> distinct_;
  Distinct<std::uint64_t> distinct_wide_;
  std::vector<double> values_;
};

}  // namespace tisim
