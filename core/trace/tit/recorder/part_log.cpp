#include "trace/tit/recorder/part_log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

namespace {

// Blocks SIGXFSZ in this thread during its lifetime.
class SigxfszBlocker {
 public:
  SigxfszBlocker() {
    sigset_t pending;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
  }
  ~SigxfszBlocker() {
    const int reason = errno;
    if (reason == EFBIG && !was_pending_) drop_pending();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = reason;
  }
  SigxfszBlocker(const SigxfszBlocker&) = delete;
  SigxfszBlocker& operator=(const SigxfszBlocker&) = delete;

 private:
  void drop_pending() const {
    sigset_t pending;
    sigpending(&pending);
    int number = 0;
    if (sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal_, &number);
  }

  sigset_t signal_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace

bool write_all(int descriptor, const char* bytes, std::size_t size) {
  const SigxfszBlocker guard;
  while (size > 0) {
    const ssize_t wrote = ::write(descriptor, bytes, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

namespace {

void write_attributes(const std::vector<std::uint32_t>& attributes, Bytes& out) {
  out.varint(attributes.size());
  for (const std::uint32_t attribute : attributes) out.varint(attribute);
}

std::vector<std::uint32_t> read_attributes(ByteReader& in) {
  std::vector<std::uint32_t> attributes(in.count("a number of attributes"));
  for (std::uint32_t& attribute : attributes) {
    attribute = static_cast<std::uint32_t>(in.at_most(kMaxAttributes - 1, "an attribute"));
  }
  return attributes;
}

}  // namespace

std::string RecordedShape::error_of(std::string_view text) {
  constexpr std::size_t kMaxTextLength = 1 << 20;
  if (text.empty()) return "a line has no text";
  if (text.size() > kMaxTextLength) return "a line is too long";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      return "a line has a character that is not printed";
    }
  }
  return "";
}

RecordedShape RecordedShape::of(std::string_view text, std::uint64_t rank_holes) {
  RecordedShape shape;
  shape.text = std::string(text);
  shape.rank_holes = rank_holes;
  if (shape.is_comment()) return shape;
  for (std::size_t at = text.find('{'); at < text.size(); at = text.find('{', at + 1)) {
    const bool is_volume = text.substr(at, kVolumeHole.size()) == kVolumeHole;
    const bool is_number = text.substr(at, kNumberHole.size()) == kNumberHole;
    if (is_volume || is_number) shape.is_volume.push_back(is_volume);
  }
  return shape;
}

RecordedShape RecordedShape::with(std::vector<std::uint32_t> fixed_attributes,
                                  std::vector<std::uint32_t> streamed_attributes) const {
  RecordedShape shape = *this;
  shape.fixed = std::move(fixed_attributes);
  shape.streamed = std::move(streamed_attributes);
  return shape;
}

void RecordedShape::write(Bytes& out) const {
  out.text(text);
  out.varint(rank_holes);
  write_attributes(fixed, out);
  write_attributes(streamed, out);
}

RecordedShape RecordedShape::read(ByteReader& in) {
  const std::string_view text = in.text();
  const std::string error = error_of(text);
  if (!error.empty()) throw FormatError(error);
  const std::uint64_t rank_holes = in.varint();
  std::vector<std::uint32_t> fixed = read_attributes(in);
  return of(text, rank_holes).with(std::move(fixed), read_attributes(in));
}

namespace {

constexpr std::string_view kLogMagic{"\x89TIR\r\n\x1a\n", 8};
// A log is rewritten when this many bytes, and half of all, have been replaced.
constexpr std::uint64_t kManyReplaced = 1 << 20;
constexpr std::uint64_t kMaxHeadBytes = 1 + 10;  // bytes: a kind and a varint
constexpr std::uint64_t kCopyBlock = 1 << 16;    // bytes copied at once

std::string framed(RecordKind kind, std::string_view payload) {
  Bytes record;
  record.byte(static_cast<std::uint8_t>(kind));
  record.varint(payload.size());
  record.fixed32(crc32c(payload.data(), payload.size()));
  record.data.append(payload.data(), payload.size());
  return std::move(record.data);
}

// Takes the next record; returns false at the end or where the log was truncated.
bool take_record(ByteReader& in, Record& record) {
  try {
    if (in.at_end()) return false;
    record.kind = static_cast<RecordKind>(in.byte());
    const std::uint64_t size = in.varint();
    const std::uint32_t checksum = in.fixed32();
    record.payload = in.bytes(size);
    return crc32c(record.payload.data(), record.payload.size()) == checksum;
  } catch (const FormatError&) {
    return false;
  }
}

}  // namespace

std::vector<Record> records_of(std::string_view log) {
  ByteReader in(log);
  if (log.substr(0, kLogMagic.size()) != kLogMagic) {
    throw FormatError("it does not begin like the part of a rank");
  }
  in.bytes(kLogMagic.size());
  std::vector<Record> records;
  Record record{};
  while (take_record(in, record)) records.push_back(record);
  return records;
}

PartLog::PartLog(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot be created");
  }
  if (error_.empty()) write(kLogMagic);
}

PartLog::~PartLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

void PartLog::fail(const char* what) { error_ = path_ + " " + what + ": " + std::strerror(errno); }

void PartLog::write(std::string_view bytes) {
  if (path_.empty()) {
    buffer_.append(bytes.data(), bytes.size());
    return;
  }
  if (!write_all(descriptor_, bytes.data(), bytes.size())) {
    fail("cannot be written");
    // If a truncated record cannot be removed, readers drop it.
    static_cast<void>(ftruncate(descriptor_, static_cast<off_t>(size_)) == 0);
    return;
  }
  size_ += bytes.size();
}

void PartLog::append(RecordKind kind, std::string_view payload) {
  if (!error_.empty()) return;
  const std::string record = framed(kind, payload);
  const bool is_snapshot = kind == RecordKind::snapshot;
  if (is_snapshot || kind == RecordKind::segment || kind == RecordKind::again) {
    if (path_.empty()) buffer_.erase(snapshot_offset_, snapshot_size_);
    replaced_ += std::exchange(snapshot_size_, is_snapshot ? record.size() : 0);
    snapshot_offset_ = path_.empty() ? buffer_.size() : static_cast<std::size_t>(size_);
  }
  write(record);
  if (!path_.empty() && replaced_ > kManyReplaced && replaced_ > size_ / 2) compact();
}

// Copies the valid records to another file, which then replaces this one.
void PartLog::compact() {
  const std::string path = path_ + ".new";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail("cannot be rewritten");
  const int old = std::exchange(descriptor_, descriptor);
  const std::uint64_t old_size = std::exchange(size_, 0);
  std::uint64_t snapshot_at = 0;
  write(kLogMagic);
  for (std::uint64_t at = kLogMagic.size(); at < old_size && error_.empty();) {
    const std::string head = read(old, at, std::min(kMaxHeadBytes, old_size - at));
    if (!error_.empty()) break;
    ByteReader in(head);
    const auto kind = static_cast<RecordKind>(in.byte());
    const std::uint64_t size = in.varint() + sizeof(std::uint32_t);
    const std::uint64_t end = at + static_cast<std::uint64_t>(in.position() - head.data()) + size;
    if (kind == RecordKind::snapshot && (at != snapshot_offset_ || snapshot_size_ == 0)) {
      at = end;
      continue;
    }
    if (kind == RecordKind::snapshot) snapshot_at = size_;
    for (; at < end && error_.empty(); at += std::min(kCopyBlock, end - at)) {
      write(read(old, at, std::min(kCopyBlock, end - at)));
    }
  }
  if (error_.empty() && rename(path.c_str(), path_.c_str()) != 0) fail("cannot be renamed");
  if (error_.empty()) {
    close(old);
    replaced_ = 0;
    snapshot_offset_ = static_cast<std::size_t>(snapshot_at);
  } else {  // the old log is intact
    close(std::exchange(descriptor_, old));
    size_ = old_size;
    unlink(path.c_str());
  }
}

std::string PartLog::read(int descriptor, std::uint64_t at, std::uint64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        pread(descriptor, &bytes[done], bytes.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail("cannot be read");
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string PartLog::contents() { return path_.empty() ? buffer_ : read(descriptor_, 0, size_); }

}  // namespace tisim::tit
