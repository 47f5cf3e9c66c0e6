// Test helpers for packed traces.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/reference_reading.hpp"
#include "trace/archive/pack.hpp"
#include "trace/packed/unpack.hpp"
#include "trace/tit/file/container.hpp"

namespace tisim::test {

// A packed trace file in memory.
class TextSource final : public tit::ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  std::uint64_t size() const override { return text_.size(); }
  std::string read(std::uint64_t offset, std::uint64_t size) const override {
    return offset >= text_.size() ? "" : text_.substr(offset, size);
  }

 private:
  std::string text_;
};

// A directory that is removed with its owner.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tisim-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the bytes of a packed trace of these files, named rank-0 etc.
inline std::string packed(const std::vector<std::string>& texts, const Scratch& scratch,
                          Dialect dialect = Dialect::automatic) {
  PackInput input;
  input.files = files_of(texts);
  for (const TraceFile& file : input.files) input.names.push_back(file.name);
  input.dialect = dialect;
  pack(input, scratch.file("packed.tit"));
  return content_of(scratch.file("packed.tit"));
}

// Returns the files unpacked from a packed trace.
inline std::vector<std::string> unpacked(const std::string& bytes, std::size_t files,
                                         const Scratch& scratch) {
  std::filesystem::create_directory(scratch.file("out"));
  unpack(file_of(bytes, "packed.tit"), scratch.file("out"));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < files; ++i) {
    const std::string name = scratch.file("out/rank-" + std::to_string(i));
    texts.push_back(content_of(std::filesystem::exists(name) ? name : name + ".txt"));
  }
  std::filesystem::remove_all(scratch.file("out"));
  return texts;
}

}  // namespace tisim::test
