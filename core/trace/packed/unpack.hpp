// Converts a packed trace back to text: the lines of one rank, and the files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/packed/calls.hpp"
#include "trace/packed/file.hpp"
#include "trace/trace_file.hpp"

namespace tisim {

// The lines of one rank.
class PackedText {
 public:
  // `file` must outlive it. `annotated`: a comment before each line lists its attributes, if any.
  PackedText(const PackedFile& file, std::int32_t rank, bool annotated = false)
      : file_(&file), calls_(file, rank, annotated), prefix_(std::to_string(rank) + " ") {}

  // Appends the next line, without a newline, to `out`; false at the end. Throws TraceError.
  bool next(std::string& out);
  // The number of the last line in its file, not counting comments with attributes.
  std::uint64_t number() const { return is_before_ ? calls_.line_before() : calls_.line(); }

 private:
  void append_call(std::string& out);
  void append_comment(const std::vector<PackedAttribute>& values, std::string& out) const;

  const PackedFile* file_;
  PackedCalls calls_;
  std::string prefix_;
  std::vector<std::string> texts_;  // of calls without columns, by index; empty: not created yet
  bool is_before_ = false;          // the last line was the computation before the call
};

// Writes the files of a packed trace into the existing `directory`. Throws TraceError.
void unpack(TraceFile packed, const std::string& directory, const Progress& progress = {});

}  // namespace tisim
