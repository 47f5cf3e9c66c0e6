// A file of named sections.
//
// A reader that does not know a section skips it when it is optional, keeps it when it writes the
// file again, and refuses the file by the section's name when it is required.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim::tit {

constexpr std::string_view kMagic{"\x89TIT\r\n\x1a\n", 8};
constexpr std::uint32_t kVersion = 2;

// How what a section says is coded.
enum class Coding : std::uint8_t {
  none,
  thorough,  // for expand_bytes: in files that were written before, is not written any more
  quick,     // by compress_by_copies
};

struct Section {
  std::string name;
  std::uint32_t version = 1;
  bool required = true;
  Coding coding = Coding::none;
  std::string bytes;           // what it says; empty when it is left in the file
  std::uint64_t offset = 0;    // of what is stored, in the file
  std::uint64_t stored = 0;    // bytes
  std::uint64_t size = 0;      // bytes of what it says
  std::uint32_t checksum = 0;  // CRC-32C of what is stored
};

// The whole file. A section that is not smaller when it is coded is
// stored as it is.
std::string write_container(std::vector<Section> sections);

// The file with one more section at its end; the others stay as they are stored. Throws
// FormatError.
std::string with_section(const std::string& file, Section section);

// Reads `size` bytes from `offset` of a file; fewer only at its end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::string read(std::uint64_t offset, std::uint64_t size) const = 0;
};

// The version of a packed trace; 0 when it is none.
std::uint32_t container_version(const ByteSource& source);

// The table of a file, without the bytes of its sections. Throws FormatError when it is damaged or
// cut.
std::vector<Section> read_container(const ByteSource& source);

// The contents of a section, checked. Throws FormatError.
std::string read_section(const ByteSource& source, const Section& section);

}  // namespace tisim::tit
