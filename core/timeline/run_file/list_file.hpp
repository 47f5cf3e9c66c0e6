// Lists in the Arrow IPC format: flat buffers of its metadata, the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/formats/text.hpp"

namespace tisim {

// FlatBuffers, in which Arrow writes what it says of its columns.

// Is written from its beginning to its end: a table before what it refers to. Begins at a multiple
// of eight bytes.
class FlatBuffer {
 public:
  // A field of a table: its number there, its bytes (8, 4, 2 or 1) and its value. Larger ones stand
  // before smaller ones.
  struct Field {
    std::uint16_t number;
    std::uint16_t size;
    std::uint64_t value = 0;
  };
  // A field that refers to data written later.
  static constexpr Field reference(std::uint16_t number) { return {number, 4}; }

  FlatBuffer() : bytes_(4) {}

  // Where the first reference stands, to the table that everything begins with.
  static constexpr std::size_t kRoot = 0;

  // Targets of references. A table: the places of those of its fields that are references, in the
  // order in which they are given.
  std::vector<std::size_t> table(std::size_t referred_at, std::initializer_list<Field> fields);
  void text(std::size_t referred_at, std::string_view text);
  // Numbers of structs, as bytes; `count` structs.
  void structs(std::size_t referred_at, std::size_t count, std::string_view bytes);
  // Where the references stand.
  std::vector<std::size_t> references(std::size_t referred_at, std::size_t count);

  // Ends at a multiple of eight bytes.
  std::string_view finish();

 private:
  void align(std::size_t to, std::size_t rest);
  void append(std::uint64_t value, std::size_t size);
  void refer(std::size_t from);

  std::vector<char> bytes_;
};

// Tables of lists in Arrow's file format
// (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format), without a library.
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
  // The bytes that have been written and not been cleared.
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
