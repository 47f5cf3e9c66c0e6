// The blocks of one stream of a packed trace, checked and a buffer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "trace/packed_file.hpp"

namespace tisim {

class PackedBlocks {
 public:
  // So many bytes behind a payload may be read (they mean nothing).
  static constexpr std::size_t kPadding = 16;

  // `file` must outlive the blocks.
  PackedBlocks(const PackedFile& file, const PackedFile::Stream& stream, std::size_t buffer_size)
      : file_(&file),
        position_(stream.offset),
        end_(stream.offset + stream.size),
        usual_size_(buffer_size) {}

  // The next payload, good until the next call; false at the end of the stream. Throws TraceError.
  bool next(std::string_view& payload);

  // Bytes of the stream behind the last payload.
  std::uint64_t bytes_left() const { return end_ - position_ + (bytes_end_ - taken_); }

 private:
  bool fill(std::size_t least);

  const PackedFile* file_;
  std::uint64_t position_;  // in the file, of what is not in the buffer yet
  std::uint64_t end_;
  std::size_t usual_size_;
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t taken_ = 0;      // bytes of the buffer that are done with
  std::size_t bytes_end_ = 0;  // behind its last byte
};

}  // namespace tisim
