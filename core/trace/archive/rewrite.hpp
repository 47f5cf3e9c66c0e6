// A packed trace of version 2 to another one.
#pragma once

#include <string>

#include "support/progress.hpp"
#include "trace/compressed/file.hpp"
#include "trace/tit/column/precision.hpp"

namespace tisim {

// The bytes of the same trace with its volumes kept less exactly; of the same file when nothing is
// to be changed. Optional sections that are not known here are kept. Throws TraceError when the
// file is damaged, when its volumes are not exact already, or when a rank makes too many calls.
std::string rewritten(const CompressedFile& file, const tit::Precision& precision,
                      const Progress& progress = {});

}  // namespace tisim
