// A packed trace of version 1 back to files of text.
#pragma once

#include <string>

#include "support/progress.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

// Writes the files of a packed trace into `directory`, which has to be there. Throws TraceError.
void unpack_packed(const PackedFile& file, const std::string& directory,
                   const Progress& progress = {});

}  // namespace tisim
