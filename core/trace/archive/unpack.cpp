#include "trace/archive/unpack.hpp"

#include <utility>

#include "trace/compressed/text.hpp"
#include "trace/packed/unpack.hpp"

namespace tisim {

void unpack(TraceFile file, const std::string& directory, const Progress& progress) {
  if (CompressedFile::version_of(file) == tit::kVersion) {
    unpack_compressed(CompressedFile(std::move(file)), directory, progress);
  } else {
    unpack_packed(PackedFile(std::move(file)), directory, progress);
  }
}

}  // namespace tisim
