// The blocks of one stream of a packed trace, checked and a buffer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "trace/packed/file.hpp"

namespace tisim {

class PackedBlocks {
 public:
  // So many bytes behind a payload may be read (they mean nothing).
  static constexpr std::size_t kPadding = 16;

  // `file`, of which `stream` is one, must outlive the blocks.
  PackedBlocks(const PackedFile& file, const PackedFile::Stream& stream, std::size_t buffer_size)
      : file_(&file),
        stream_(&stream),
        position_(stream.offset),
        usual_size_(static_cast<std::uint32_t>(buffer_size)) {}

  const PackedFile& file() const { return *file_; }
  const PackedFile::Stream& stream() const { return *stream_; }

  // The next payload, good until the next call; false at the end of the stream. Throws TraceError.
  bool next(std::string_view& payload);

  // Bytes of the stream behind the last payload.
  std::uint64_t bytes_left() const { return end() - position_ + (bytes_end_ - taken_); }

 private:
  bool fill(std::size_t least);
  std::uint64_t end() const { return stream_->offset + stream_->size; }

  // A payload has at most 128 MB; sizes of 4 bytes are enough.
  const PackedFile* file_;
  const PackedFile::Stream* stream_;
  std::uint64_t position_;  // in the file, of what is not in the buffer yet
  std::unique_ptr<char[]> data_;
  std::uint32_t usual_size_;
  std::uint32_t capacity_ = 0;
  std::uint32_t taken_ = 0;      // bytes of the buffer that are done with
  std::uint32_t bytes_end_ = 0;  // behind its last byte
};

}  // namespace tisim
