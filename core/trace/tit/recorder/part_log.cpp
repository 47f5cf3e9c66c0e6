#include "trace/tit/recorder/part_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/codec/crc32c.hpp"
#include "trace/tit/recorder/whole_write.hpp"

namespace tisim {
namespace tit {
namespace {

constexpr std::string_view kLogMagic{"\x89TIL\r\n\x1a\n", 8};
// A log is written anew when so many of its bytes, and half of all, were replaced.
constexpr std::uint64_t kManyReplaced = 1 << 20;
constexpr std::uint64_t kMostHead = 1 + 10;  // bytes: a kind and a varint
constexpr std::uint64_t kCopied = 1 << 16;   // bytes at a time

std::string framed(RecordKind kind, std::string_view payload) {
  Bytes record;
  record.byte(static_cast<std::uint8_t>(kind));
  record.varint(payload.size());
  record.fixed32(crc32c(payload.data(), payload.size()));
  record.data.append(payload.data(), payload.size());
  return std::move(record.data);
}

// The next record; false at the end or where the log was cut.
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
    throw FormatError("it does not begin as the part of a rank");
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
    // Readers drop a record that is cut, where it cannot be taken away.
    static_cast<void>(ftruncate(descriptor_, static_cast<off_t>(size_)) == 0);
    return;
  }
  size_ += bytes.size();
}

void PartLog::append(RecordKind kind, std::string_view payload) {
  if (!error_.empty()) return;
  const std::string record = framed(kind, payload);
  const bool is_so_far = kind == RecordKind::so_far;
  if (is_so_far || kind == RecordKind::segment || kind == RecordKind::again) {
    if (path_.empty()) buffer_.erase(so_far_offset_, so_far_size_);
    replaced_ += std::exchange(so_far_size_, is_so_far ? record.size() : 0);
    so_far_offset_ = path_.empty() ? buffer_.size() : static_cast<std::size_t>(size_);
  }
  write(record);
  if (!path_.empty() && replaced_ > kManyReplaced && replaced_ > size_ / 2) drop_replaced();
}

// Copies the records that count into another file, which then takes the name of this one.
void PartLog::drop_replaced() {
  const std::string path = path_ + ".new";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail("cannot be written anew");
  const int old = std::exchange(descriptor_, descriptor);
  const std::uint64_t old_size = std::exchange(size_, 0);
  std::uint64_t so_far = 0;
  write(kLogMagic);
  for (std::uint64_t at = kLogMagic.size(); at < old_size && error_.empty();) {
    const std::string head = read(old, at, std::min(kMostHead, old_size - at));
    if (!error_.empty()) break;
    ByteReader in(head);
    const auto kind = static_cast<RecordKind>(in.byte());
    const std::uint64_t size = in.varint() + sizeof(std::uint32_t);
    const std::uint64_t end = at + static_cast<std::uint64_t>(in.position() - head.data()) + size;
    if (kind == RecordKind::so_far && (at != so_far_offset_ || so_far_size_ == 0)) {
      at = end;
      continue;
    }
    if (kind == RecordKind::so_far) so_far = size_;
    for (; at < end && error_.empty(); at += std::min(kCopied, end - at)) {
      write(read(old, at, std::min(kCopied, end - at)));
    }
  }
  if (error_.empty() && rename(path.c_str(), path_.c_str()) != 0) fail("cannot be renamed");
  if (error_.empty()) {
    close(old);
    replaced_ = 0;
    so_far_offset_ = static_cast<std::size_t>(so_far);
  } else {  // the old log is whole
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

}  // namespace tit
}  // namespace tisim
