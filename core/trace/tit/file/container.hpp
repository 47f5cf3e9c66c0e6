// A file of named sections.
//
// A reader skips an unknown optional section, keeping it if it writes the file again, and refuses a
// file with an unknown required section, naming it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim::tit {

constexpr std::string_view kMagic{"\x89TIT\r\n\x1a\n", 8};
constexpr std::uint32_t kVersion = 2;

// Coding of a section's contents.
enum class Coding : std::uint8_t {
  none,
  arithmetic,  // decoded by expand_bytes; only in older files
  copies,      // by compress_by_copies
};

struct Section {
  std::string name;
  std::uint32_t version = 1;
  bool required = true;
  Coding coding = Coding::none;
  std::string bytes;           // contents; empty if left in the file
  std::uint64_t offset = 0;    // of the stored bytes, in the file
  std::uint64_t stored = 0;    // bytes
  std::uint64_t size = 0;      // bytes of the contents
  std::uint32_t checksum = 0;  // CRC-32C of the stored bytes
};

// The whole file. A section that coding does not make smaller is stored uncoded.
std::string write_container(std::vector<Section> sections);

// The file with one more section at its end; the others keep their stored form. Throws FormatError.
std::string with_section(const std::string& file, Section section);

// Reads `size` bytes from `offset` of a file; fewer only at its end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::string read(std::uint64_t offset, std::uint64_t size) const = 0;
};

// The version of a packed trace; 0 if it is not one.
std::uint32_t container_version(const ByteSource& source);

// The table of a file, without the bytes of its sections. Throws FormatError if it is damaged or
// truncated.
std::vector<Section> read_container(const ByteSource& source);

// The contents of a section, checked. Throws FormatError.
std::string read_section(const ByteSource& source, const Section& section);

}  // namespace tisim::tit
