// The ranks that files are of, and whether all ranks are there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/progress.hpp"
#include "trace/trace_file.hpp"

namespace tisim {

// `ranks` in ascending order, each once: throws TraceError, without a line, unless they are 0, 1,
// 2 and so on. `thing` is what a rank should have, a file or a line.
void check_ranks_complete(const std::vector<std::int64_t>& ranks, const std::string& place,
                          std::string_view thing);

// The rank of each of several files, by its first line that is not a comment. Throws TraceError
// unless they are 0, 1, 2 and so on, each once; `name` stands for all files.
std::vector<std::int64_t> ranks_of(std::span<const TraceFile> files, const std::string& name,
                                   const Progress& progress = {});

// One file with the lines of several ranks, taken apart.

class MergedFile {
 public:
  // Comments and empty lines go with the line before them, or are left out.
  enum class Comments : bool { left_out, kept };

  // Reads the file once, to learn which ranks it has. Throws TraceError: a line that does not
  // begin with a rank, no line at all, a rank missing between others.
  explicit MergedFile(const TraceFile& file, Comments comments = Comments::left_out,
                      const Progress& progress = {});

  std::int32_t ranks() const { return static_cast<std::int32_t>(parts_.size()); }

  // Reads it again and writes the lines of each rank into a part of a temporary file. Where a
  // rank's next line is not the file's next line, a line with kLineMark says which one it is. The
  // parts have the name of the file.
  std::vector<TraceFile> split(const Progress& progress = {}) const;

 private:
  // Size of a rank's part; while it is written, `length` counts what is written.
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
