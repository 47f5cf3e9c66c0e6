// The part files that the ranks of a recorded program leave, and the trace merged from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tisim {

// Facts about a part before it is merged.
struct RecordedPart {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;            // of the program
  bool is_complete = false;           // the program ended normally
  std::vector<std::string> comments;  // "# counter: time"
};

// The lines of a packed trace without numbers, as in its tables: comments, and lines such as
// "unsupported MPI_Put 12". Throws TraceError.
std::vector<std::string> lines_without_numbers(const std::string& path);

// Throws TraceError if the file is not a part.
RecordedPart read_recorded_part(const std::string& path);

// Writes the trace of these part files; `output` appears only once it is complete. Rank 0 begins
// with `first_lines`, which have no rank. Returns the ranks that are missing or did not end
// normally. Throws TraceError.
std::vector<std::uint32_t> write_recorded_trace(const std::vector<std::string>& paths,
                                                const std::vector<std::string>& first_lines,
                                                const std::string& output);

}  // namespace tisim
