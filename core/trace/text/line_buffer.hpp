// Reads a file's lines, one buffer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "trace/trace_file.hpp"

namespace tisim {

// In a rank's part of a split file, a line with this byte and a number gives the file's line number
// of the next line.
inline constexpr char kLineMark = '\x02';

// Contains complete lines only, each with its newline; one is added to a file's last line if
// needed. A line longer than the buffer makes it grow for as long as necessary.
class LineBuffer {
 public:
  // Maximum bytes of a line; a file with a longer one is not a trace.
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;
  // Number of readable bytes after the last line (their values are unspecified).
  static constexpr std::size_t kPadding = 64;

  // `file` must outlive the buffer.
  LineBuffer(const TraceFile& file, std::size_t buffer_size)
      : file_(&file), usual_size_(buffer_size) {}

  // Reads the next lines; returns false at the end of the file. Throws TraceError.
  bool refill();

  const char* begin() const { return data_.get(); }
  const char* end() const { return data_.get() + lines_end_; }  // after the last newline
  // The line at `p`, without its newline.
  static std::string_view line_at(const char* p, const char* end);

  // True if `end_of_line` ends a last line without a newline in the file.
  bool is_cut(const char* end_of_line) const { return newline_added_ && end_of_line == end() - 1; }
  // Bytes of the file read so far.
  std::uint64_t position() const { return position_; }

 private:
  void make_room();
  bool take_lines(std::size_t scanned);

  const TraceFile* file_;
  std::size_t usual_size_;
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t lines_end_ = 0;  // after the last newline
  std::size_t bytes_end_ = 0;  // after the last byte
  std::uint64_t position_ = 0;
  bool at_end_ = false;
  bool newline_added_ = false;
};

}  // namespace tisim
