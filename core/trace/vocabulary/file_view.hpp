// The bytes of a file that a rank sees: the view of MPI_File_set_view.
//
// A view repeats blocks of bytes at regular distances on several levels, as vectors, subarrays and
// their combinations do. Positions in a view count its visible bytes; this is the only place that
// maps them to file offsets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tisim {

class FileView {
 public:
  // Contiguous bytes of a file.
  struct Piece {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };

  // The numbers of a line: the first byte, the bytes of a block, a count and a distance for each
  // level from the inside out, and the distance at which the whole is repeated for ever.
  explicit FileView(std::span<const double> numbers);
  // The error of such numbers, for a message; empty if valid.
  static std::string error_of(std::span<const double> numbers);

  // File offset of a byte of the view; kBeyond if it exceeds 2^63 bytes.
  static constexpr std::int64_t kBeyond = -1;
  std::int64_t file_offset(std::int64_t position) const;
  // File offset after the last of `bytes` bytes; kBeyond if too large.
  std::int64_t end(std::int64_t position, std::int64_t bytes) const;
  // The first contiguous piece of these bytes.
  Piece first_piece(std::int64_t position, std::int64_t bytes) const;
  // Number of bytes of the view before a byte of the file.
  std::int64_t position_before(std::int64_t offset) const;

  // Calls take(offset, bytes) for each piece.
  template <class Take>
  void for_each_piece(std::int64_t position, std::int64_t bytes, Take&& take) const {
    while (bytes > 0) {
      const Piece piece = first_piece(position, bytes);
      take(piece.offset, piece.bytes);
      position += piece.bytes;
      bytes -= piece.bytes;
    }
  }

 private:
  // `bytes` bytes of the view begin at each multiple of `distance`.
  struct Level {
    std::int64_t bytes = 0;
    std::int64_t distance = 0;
  };

  std::int64_t displacement_ = 0;
  std::vector<Level> levels_;  // from the outside in; at least one
};

}  // namespace tisim
