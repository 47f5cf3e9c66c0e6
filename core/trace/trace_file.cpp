#include "trace/trace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "trace/error.hpp"

namespace tisim {

namespace {

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw TraceError(name, 0, what + ": " + std::strerror(errno));
}

int open_for_reading(const TraceFile& file) {
  int number;
  do {
    number = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (number < 0 && errno == EINTR);
  if (number < 0) fail(file.name, "cannot be opened");
  return number;
}

}  // namespace

Descriptor::~Descriptor() { ::close(number_); }

std::shared_ptr<const Descriptor> make_temporary_file() {
  const char* const directory = std::getenv("TMPDIR");
  std::string path = directory != nullptr && *directory != '\0' ? directory : "/tmp";
  path += "/tisim-XXXXXX";
  const int number = ::mkstemp(path.data());
  if (number < 0)
    fail(path, "cannot create a temporary file; set TMPDIR to a directory with free space");
  ::unlink(path.c_str());
  return std::make_shared<const Descriptor>(number);
}

std::size_t TraceFile::read(std::uint64_t position, char* into, std::size_t size_wanted) const {
  if (length != kToTheEnd) {
    size_wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(size_wanted, length - std::min(length, position)));
  }
  if (size_wanted == 0) return 0;
  // Closed on every exit path if it was opened here.
  std::unique_ptr<Descriptor> opened;
  if (!descriptor) opened = std::make_unique<Descriptor>(open_for_reading(*this));
  const int number = descriptor ? descriptor->number() : opened->number();
  std::size_t done = 0;
  while (done < size_wanted) {
    const ssize_t got = ::pread(number, into + done, size_wanted - done,
                                static_cast<off_t>(offset + position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(name, "cannot be read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::uint64_t TraceFile::size() const {
  if (length != kToTheEnd) return length;
  struct stat status {};
  const int failed =
      descriptor ? ::fstat(descriptor->number(), &status) : ::stat(path.c_str(), &status);
  if (failed != 0) fail(name, "cannot be opened");
  if (!S_ISREG(status.st_mode)) throw TraceError(name, 0, "is not a file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return bytes - std::min(bytes, offset);
}

std::shared_ptr<const Descriptor> open_file(const TraceFile& file) {
  return file.descriptor ? file.descriptor
                         : std::make_shared<const Descriptor>(open_for_reading(file));
}

void write_at(const Descriptor& file, std::string_view bytes, std::uint64_t position,
              const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(file.number(), bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(name, "cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(put));
    position += static_cast<std::uint64_t>(put);
  }
}

std::shared_ptr<const Descriptor> create_file(const std::string& path) {
  int number;
  do {
    number = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  } while (number < 0 && errno == EINTR);
  if (number < 0) fail(path, "cannot be written");
  return std::make_shared<const Descriptor>(number);
}

}  // namespace tisim
