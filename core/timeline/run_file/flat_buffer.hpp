// FlatBuffers, in which Arrow writes what it says of its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace tisim {

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
  // A field that refers to what is written later.
  static constexpr Field reference(std::uint16_t number) { return {number, 4}; }

  FlatBuffer() : bytes_(4) {}

  // Where the first reference stands, to the table that everything begins with.
  static constexpr std::size_t kRoot = 0;

  // What a reference leads to. A table: where its fields stand, in the order in which they are
  // given, for those that are references.
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

}  // namespace tisim
