// A packed trace back to files of text.
#pragma once

#include <string>

#include "support/progress.hpp"
#include "trace/storage/trace_file.hpp"

namespace tisim {

// Writes the files of a packed trace into `directory`, which has to be there. Throws TraceError.
void unpack(TraceFile file, const std::string& directory, const Progress& progress = {});

}  // namespace tisim
