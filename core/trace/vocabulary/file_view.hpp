// Which bytes of a file a rank sees: the view of MPI_File_set_view.
//
// A view repeats blocks of bytes at regular distances, on several levels: so do vectors, subarrays
// and what is made of them. Positions in a view count the bytes that it shows; this is the one
// place that says where in the file they lie.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tisim {

class FileView {
 public:
  // Bytes of a file that follow each other.
  struct Piece {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };

  // The numbers of a line: the first byte, the bytes of a block, a count and a distance for each
  // level from the inside, and the distance at which all of it is repeated for ever.
  explicit FileView(std::span<const double> numbers);
  // The error of such numbers, for a message; empty: none.
  static std::string fault(std::span<const double> numbers);

  // Where a byte of the view lies in the file; kBeyond: behind 2^63 bytes.
  static constexpr std::int64_t kBeyond = -1;
  std::int64_t place(std::int64_t position) const;
  // Behind the last of so many bytes; kBeyond.
  std::int64_t end(std::int64_t position, std::int64_t bytes) const;
  // The first bytes in a row of those.
  Piece first_piece(std::int64_t position, std::int64_t bytes) const;
  // How many bytes of the view lie before a byte of the file.
  std::int64_t position_before(std::int64_t offset) const;

  // Calls take(offset, bytes) for each of the pieces.
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
  // So many bytes of the view begin at each multiple of a distance.
  struct Level {
    std::int64_t bytes = 0;
    std::int64_t distance = 0;
  };

  std::int64_t displacement_ = 0;
  std::vector<Level> levels_;  // from the outside; at least one
};

}  // namespace tisim
