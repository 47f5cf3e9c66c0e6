// A text trace to a packed one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/trace_file.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// The files to be packed, and the names that they will have when they are unpacked.
struct PackInput {
  std::vector<TraceFile> files;
  std::string name = {};  // what stands for all of them in errors
  std::vector<std::string> names = {};
  std::string index_name = {};  // of the file that lists the others, if there is one
  std::string index_text = {};
  Dialect dialect = Dialect::automatic;
  tit::Precision precision = {};
};

// Writes the file `output`. The lines are kept as they are, right or wrong. A packed file is
// written again with less exact volumes, or copied. Throws TraceError when a file
// cannot be read or written, or when it is not clear whose trace it is.
void pack(const PackInput& input, const std::string& output, const Progress& progress = {});

}  // namespace tisim
