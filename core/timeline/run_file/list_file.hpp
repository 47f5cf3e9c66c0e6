// Lists in the Arrow IPC format: FlatBuffers for its metadata, and the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/formats/text.hpp"

namespace tisim {

// FlatBuffers, the format of Arrow's metadata.

// Written from beginning to end: a table before the data it refers to. Begins at a multiple of
// eight bytes.
class FlatBuffer {
 public:
  // A field of a table: its number there, its size in bytes (8, 4, 2 or 1) and its value. Larger
  // fields must come before smaller ones.
  struct Field {
    std::uint16_t number;
    std::uint16_t size;
    std::uint64_t value = 0;
  };
  // A field that refers to data written later.
  static constexpr Field reference(std::uint16_t number) { return {number, 4}; }

  FlatBuffer() : bytes_(4) {}

  // Position of the first reference, to the root table.
  static constexpr std::size_t kRoot = 0;

  // Writes the target of a reference. For a table, returns the positions of its fields that are
  // references, in the given order.
  std::vector<std::size_t> table(std::size_t referred_at, std::initializer_list<Field> fields);
  void text(std::size_t referred_at, std::string_view text);
  // Structs of numbers, as bytes; `count` structs.
  void structs(std::size_t referred_at, std::size_t count, std::string_view bytes);
  // Writes a vector of references and returns their positions.
  std::vector<std::size_t> references(std::size_t referred_at, std::size_t count);

  // Pads to a multiple of eight bytes.
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

// Writes record batches: columns of numbers followed by one column of lists, whose elements have
// several fields. Columns begin at multiples of eight bytes, so that they can be read in place.
class ListFile {
 public:
  ListFile(std::vector<ListColumn> columns, const char* lists, std::vector<ListColumn> fields);

  // File offsets of the columns, followed by the offsets of the lists and the fields.
  using Offsets = std::vector<std::size_t>;
  // All as bytes. `offsets`: start of the list of each row, and one more.
  Offsets write(std::span<const std::string_view> columns, std::span<const std::int32_t> offsets,
                std::span<const std::string_view> fields);
  // Call when no batch follows.
  void finish();

  std::size_t batches() const { return blocks_.size(); }
  // The bytes written and not cleared.
  std::string_view written() const { return text_.view(); }
  void clear();

 private:
  struct Block {
    std::int64_t at;
    std::int32_t size, padding = 0;
    std::int64_t body;
  };

  std::size_t offset() const { return before_ + text_.size(); }
  void write_schema(FlatBuffer& to, std::size_t referred_at) const;
  // Writes a message's metadata, without its body.
  void write_message(std::string_view metadata);
  void pad();

  std::vector<ListColumn> columns_;
  const char* lists_;
  std::vector<ListColumn> fields_;
  std::vector<Block> blocks_;
  std::size_t before_ = 0;  // bytes already taken
  Text text_;
};

}  // namespace tisim
