// One file with the lines of several ranks, taken apart.
#pragma once

#include <cstdint>
#include <vector>

#include "support/progress.hpp"
#include "trace/storage/trace_file.hpp"

namespace tisim {

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
  // What a rank's part takes; while it is written, `length` counts what is written.
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
