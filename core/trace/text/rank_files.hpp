// The ranks of trace files, and whether all ranks are present.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/progress.hpp"
#include "trace/trace_file.hpp"

namespace tisim {

// Throws TraceError, without a line, unless `ranks`, ascending and distinct, are 0, 1, 2 and so on.
// `thing` names what a rank should have: a file or a line.
void check_ranks_complete(const std::vector<std::int64_t>& ranks, const std::string& place,
                          std::string_view thing);

// The rank of each of several files, from its first line that is not a comment. Throws TraceError
// unless they are 0, 1, 2 and so on, each once; `name` names the whole set in errors.
std::vector<std::int64_t> ranks_of(std::span<const TraceFile> files, const std::string& name,
                                   const Progress& progress = {});

// Splits a file with the lines of several ranks.

class MergedFile {
 public:
  // Comments and empty lines belong to the line before them, or are left out.
  enum class Comments : bool { left_out, kept };

  // Reads the file once to find its ranks. Throws TraceError if a line does not begin with a rank,
  // if there is no line at all, or if a rank is missing.
  explicit MergedFile(const TraceFile& file, Comments comments = Comments::left_out,
                      const Progress& progress = {});

  std::int32_t ranks() const { return static_cast<std::int32_t>(parts_.size()); }

  // Reads the file again and writes the lines of each rank into a part of a temporary file. If a
  // rank's next line is not the file's next line, a line with kLineMark gives its number. The parts
  // keep the name of the file.
  std::vector<TraceFile> split(const Progress& progress = {}) const;

 private:
  // Size of a rank's part; while it is being written, `length` counts the bytes written.
  struct Part {
    std::uint64_t length = 0;
    std::uint64_t last_line = 0;
  };
  class Writer;

  const TraceFile* file_;
  Comments comments_;
  std::vector<Part> parts_;
};

}  // namespace tisim
