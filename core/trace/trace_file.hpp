// The bytes of a trace: a file, or a part of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace tisim {

// An open file, closed with its last user. Unpacked traces are stored in unlinked files.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

// Creates an unnamed file for reading and writing in the directory for temporary files.
std::shared_ptr<const Descriptor> make_temporary_file();

inline constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

// A trace file as the user names it, and the location of its bytes: in the file `path`, or behind
// `descriptor` if it is set.
struct TraceFile {
  std::string name;
  std::string path;
  std::shared_ptr<const Descriptor> descriptor;
  std::uint64_t offset = 0;
  std::uint64_t length = kToTheEnd;

  // Reads at most `size` bytes from `position` (relative to `offset`); returns 0 only at the end.
  // Files with a path are opened and closed on each call, so that any number of ranks needs no
  // descriptors. Throws TraceError.
  std::size_t read(std::uint64_t position, char* into, std::size_t size) const;

  // Size in bytes. Throws TraceError, also if it is not a regular file.
  std::uint64_t size() const;
};

// Opens the file of a part, to be shared by all its readers. Throws TraceError.
std::shared_ptr<const Descriptor> open_file(const TraceFile& file);

// Writes all of `bytes` at `position`. Throws a TraceError that names `name`.
void write_at(const Descriptor& file, std::string_view bytes, std::uint64_t position,
              const std::string& name);

// Creates an empty file. Throws TraceError.
std::shared_ptr<const Descriptor> create_file(const std::string& path);

}  // namespace tisim
