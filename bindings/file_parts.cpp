#include "file_parts.hpp"

#include <unistd.h>

#include <memory>
#include <utility>

#include "trace/error.hpp"

namespace nb = nanobind;

namespace tisim {

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::object decoded(const std::string& name) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
}

std::vector<TraceFile> files_of(const std::vector<FilePart>& parts) {
  std::vector<TraceFile> files;
  files.reserve(parts.size());
  std::shared_ptr<const Descriptor> descriptor;
  int number = -1;
  for (const auto& [name, path, from, offset, length] : parts) {
    TraceFile file;
    file.name = text_of(name);
    if (path) {
      file.path = text_of(*path);
    } else {
      // An open file usually contains many parts: they share one descriptor.
      if (!descriptor || from != number) {
        const int copy = ::dup(from);
        if (copy < 0) throw TraceError(file.name, 0, "has lost its temporary file");
        descriptor = std::make_shared<const Descriptor>(copy);
        number = from;
      }
      file.descriptor = descriptor;
    }
    file.offset = offset;
    file.length = length.value_or(kToTheEnd);
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace tisim
