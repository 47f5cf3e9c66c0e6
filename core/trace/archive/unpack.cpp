#include "trace/archive/unpack.hpp"

#include <utility>

#include "trace/compressed/text.hpp"

namespace tisim {

void unpack(TraceFile file, const std::string& directory, const Progress& progress) {
  unpack_compressed(CompressedFile(std::move(file)), directory, progress);
}

}  // namespace tisim
