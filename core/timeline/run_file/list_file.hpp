// Tables of lists in Arrow's file format
// (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format), without a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/formats/text.hpp"
#include "timeline/run_file/flat_buffer.hpp"

namespace tisim {

struct ListColumn {
  const char* name;
  bool is_real;      // or an unsigned number
  std::size_t size;  // bytes
};

// Writes record batches: columns of numbers, and then one column of lists, whose elements have
// several fields. Columns begin at multiples of eight bytes, so that they are read in place.
class ListFile {
 public:
  ListFile(std::vector<ListColumn> columns, const char* lists, std::vector<ListColumn> fields);

  // Where the columns stand in the file, the offsets of the lists after them, then the fields.
  using Places = std::vector<std::size_t>;
  // All as bytes. `offsets`: where the list of each row begins, and one more.
  Places write(std::span<const std::string_view> columns, std::span<const std::int32_t> offsets,
               std::span<const std::string_view> fields);
  // No batch follows.
  void finish();

  std::size_t batches() const { return blocks_.size(); }
  // What has been written and not been cleared.
  std::string_view written() const { return text_.view(); }
  void clear();

 private:
  struct Block {
    std::int64_t at;
    std::int32_t size, padding = 0;
    std::int64_t body;
  };

  std::size_t place() const { return before_ + text_.size(); }
  void write_schema(FlatBuffer& to, std::size_t referred_at) const;
  // A message's metadata, without its body.
  void write_message(std::string_view metadata);
  void pad();

  std::vector<ListColumn> columns_;
  const char* lists_;
  std::vector<ListColumn> fields_;
  std::vector<Block> blocks_;
  std::size_t before_ = 0;  // bytes that have been taken
  Text text_;
};

}  // namespace tisim
