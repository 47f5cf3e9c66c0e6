// The bytes of a trace: a file, or a part of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace tisim {

// An open file that is closed with its last user; traces that were unpacked live in files that
// have no name any more.
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

// A new file without a name, in the directory for temporary files, for reading and writing.
std::shared_ptr<const Descriptor> make_temporary_file();

inline constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

// A trace file as a user names it, and where its bytes are: in the file `path`, or behind
// `descriptor` when there is one.
struct TraceFile {
  std::string name;
  std::string path;
  std::shared_ptr<const Descriptor> descriptor;
  std::uint64_t offset = 0;
  std::uint64_t length = kToTheEnd;

  // At most `size` bytes from `position` (counted from `offset`); 0 only at the end. Files with a
  // path are opened and closed again, so that any number of ranks needs no descriptor. Throws
  // TraceError.
  std::size_t read(std::uint64_t position, char* into, std::size_t size) const;

  // The number of its bytes. Throws TraceError, also when it is not a file that can be read
  // anywhere.
  std::uint64_t size() const;
};

// The file of a part, open for all its readers together. Throws TraceError.
std::shared_ptr<const Descriptor> open_file(const TraceFile& file);

// Writes all of `bytes` at `position`. Throws a TraceError that names `name`.
void write_at(const Descriptor& file, std::string_view bytes, std::uint64_t position,
              const std::string& name);

// Makes an empty file. Throws TraceError.
std::shared_ptr<const Descriptor> create_file(const std::string& path);

}  // namespace tisim
