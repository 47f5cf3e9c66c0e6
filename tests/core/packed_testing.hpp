// What the tests of packed traces share.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/reference_reading.hpp"
#include "trace/archive/pack.hpp"
#include "trace/archive/unpack.hpp"
#include "trace/packed/byte_codec.hpp"
#include "trace/packed/format.hpp"
#include "trace/packed/text.hpp"
#include "trace/tit/codec/crc32c.hpp"

namespace tisim::test {

// A directory that vanishes with its owner.
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

// The bytes of a packed trace of these files, named rank-0 and so on.
inline std::string packed(const std::vector<std::string>& texts, const Scratch& scratch,
                          Dialect dialect = Dialect::automatic,
                          PackedForm form = PackedForm::version_1) {
  PackInput input;
  input.files = files_of(texts);
  for (const TraceFile& file : input.files) input.names.push_back(file.name);
  input.dialect = dialect;
  input.form = form;
  pack(input, scratch.file("packed.tit"));
  return content_of(scratch.file("packed.tit"));
}

// The texts that come out of a packed trace.
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

// A packed trace of one rank whose checksums are right, whatever its only block says.
inline std::string with_payload(std::string_view payload) {
  using namespace tisim::packed;
  std::string stream;
  put_varint(stream, payload.size());
  put_fixed(stream, tit::crc32c(payload.data(), payload.size()));
  stream += payload;
  std::string index;
  index += '\0';  // a file a rank
  index += static_cast<char>(Dialect::modern);
  put_varint(index, 4);  // slots
  const auto put_texts = [&index](const std::vector<std::string>& texts) {
    put_varint(index, texts.size());
    for (const std::string& text : texts) {
      put_varint(index, text.size());
      index += text;
    }
  };
  put_texts({"send", "init"});
  put_texts({{1, 6, 0, 4, 16}, {2, 0}});  // send 0 1 4, init
  index.append(2, '\0');                  // no index file
  index += '\1';                          // one rank:
  index.append(2, '\0');                  // rank 0, actions
  put_varint(index, stream.size());
  index.append(3, '\0');  // flags, nothing in common with a name before
  index.append("\1a");
  return packed_header(index, kHeaderSize + stream.size()) + stream + index;
}

inline std::string with_index(std::string_view index) {
  using namespace tisim::packed;
  return packed_header(index, kHeaderSize).append(index);
}

}  // namespace tisim::test
