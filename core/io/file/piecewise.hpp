// Reads and writes of what a view shows with holes between: what is left of those that ranks are
// in.
#pragma once

#include <cstdint>

#include "trace/vocabulary/file_view.hpp"

namespace tisim {

// One call. Its pieces are read or written one after the other. With data sieving a buffer of the
// file takes the place of all pieces in it; to write, it is locked, read, written and unlocked.
struct PiecewiseAccess {
  enum class Step : std::uint8_t { piece, lock, read, write, unlock };

  const FileView* view = nullptr;
  std::int32_t file = 0;
  std::int32_t use = -1;  // of `FileHabits::uses`
  bool writes = false;
  bool makes_request = false;  // that is complete at once
  std::int64_t position = 0;   // in the view, of what is left
  std::int64_t left = 0;       // bytes
  std::int64_t end = 0;        // behind the last byte, in the file
  std::int64_t buffer = 0;     // bytes; 0: no data sieving
  Step step = Step::piece;
  std::int64_t begin = 0;  // of the buffer at hand, in the file
  std::int64_t size = 0;   // its bytes

  // The next buffer begins at the first byte that is left.
  void next_buffer() {
    begin = view->place(position);
    size = end - begin < buffer ? end - begin : buffer;
    const std::int64_t shown = view->position_before(begin + size) - position;
    const std::int64_t moved = shown < left ? shown : left;
    position += moved;
    left -= moved;
  }
};

}  // namespace tisim
