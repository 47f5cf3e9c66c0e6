// Converts a text trace to a packed one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/trace_file.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// The files to pack, and the names that unpacking gives them.
struct PackInput {
  std::vector<TraceFile> files;
  std::string name = {};  // names the whole trace in errors
  std::vector<std::string> names = {};
  std::string index_name = {};  // the file that lists the others, if any
  std::string index_text = {};
  Dialect dialect = Dialect::automatic;
  tit::Precision precision = {};
};

// Writes the file `output`. Lines are kept unchanged, even invalid ones. A packed file is written
// again with less exact volumes, or copied. Throws TraceError if a file cannot be read or written,
// or if its rank cannot be determined.
void pack(const PackInput& input, const std::string& output, const Progress& progress = {});

}  // namespace tisim
