// The lines of one rank of a packed trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/packed/blocks.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

// The lines of one rank, one after the other.
class PackedText {
 public:
  PackedText(const PackedFile& file, const PackedFile::Stream& stream, std::size_t buffer_size)
      : file_(&file),
        stream_(&stream),
        prefix_(std::to_string(stream.rank) + " "),
        blocks_(file, stream, buffer_size) {}

  // Appends the next line, without a newline, to `out`; false at the end. Throws TraceError.
  bool next(std::string& out);
  // The number in its file of the line that came last.
  std::uint64_t number() const { return number_; }

 private:
  bool append_token(std::string& out);
  void append_template(std::string_view line_template, std::string& out);
  void append_slot(std::uint64_t slot, std::string& out);
  void append_compute(unsigned token, std::string& out);
  std::uint64_t varint();
  std::string_view text();

  const PackedFile* file_;
  const PackedFile::Stream* stream_;
  std::string prefix_;
  PackedBlocks blocks_;
  std::string_view payload_;
  std::vector<std::string> slots_;
  std::size_t next_slot_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace tisim
