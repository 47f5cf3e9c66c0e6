// A packed trace, opened: its index in memory, its streams read as they are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/packed/writer.hpp"
#include "trace/storage/trace_file.hpp"

namespace tisim {

class PackedFile {
 public:
  struct Stream {
    std::int32_t rank = 0;
    bool newline_at_end = true;
    std::uint64_t actions = 0;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t size = 0;
    std::uint64_t name_offset = 0;  // in names_
    std::uint32_t name_size = 0;
  };

  // Whether the file begins like a packed trace. Throws TraceError when it cannot be read.
  static bool recognises(const TraceFile& file);

  // Throws TraceError when the file is damaged, cut, or of a newer version.
  explicit PackedFile(TraceFile file);

  const TraceFile& file() const { return file_; }
  std::int32_t ranks() const { return static_cast<std::int32_t>(streams_.size()); }
  const PackedLayout& layout() const { return layout_; }
  std::size_t slots_limit() const { return slots_limit_; }
  const std::vector<std::string>& words() const { return words_; }
  const std::vector<std::string>& dictionary() const { return dictionary_; }
  // In the order of the files.
  const std::vector<Stream>& streams() const { return streams_; }
  const Stream& stream_of(std::int32_t rank) const {
    return streams_[static_cast<std::size_t>(by_rank_[static_cast<std::size_t>(rank)])];
  }
  std::string_view name(const Stream& stream) const {
    return std::string_view(names_).substr(stream.name_offset, stream.name_size);
  }
  // As errors name it: the packed file's name and then its own.
  std::string display_name(const Stream& stream) const;
  std::uint64_t stream_bytes() const { return index_offset_ - packed_start_; }
  std::uint64_t actions() const;

  [[noreturn]] void damaged(std::string_view what) const;

 private:
  void read_header();
  void read_index();
  void read_streams(class ByteCursor& cursor);

  TraceFile file_;
  PackedLayout layout_;
  std::size_t slots_limit_ = 0;
  std::vector<std::string> words_;
  std::vector<std::string> dictionary_;
  std::vector<Stream> streams_;
  std::vector<std::int32_t> by_rank_;
  std::string names_;
  std::uint64_t packed_start_;
  std::uint64_t index_offset_ = 0;
  std::uint64_t file_size_ = 0;
  std::uint32_t index_checksum_ = 0;
};

}  // namespace tisim
