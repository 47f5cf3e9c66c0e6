#include "file/files.hpp"

#include <cstdio>
#include <utility>

#include "trace/vocabulary/file_name.hpp"

namespace tisim {

namespace {

std::uint64_t key_of(std::int32_t rank, std::int32_t handle) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32 |
         static_cast<std::uint32_t>(handle);
}

bool has_flag(const Call& call, char flag) { return call.words[1].find(flag) != std::string::npos; }

}  // namespace

bool Files::begin(Rank& rank, std::int32_t index) {
  switch (file_call_of(rank.op)) {
    case Operation::open:
      return open(rank, index);
    case Operation::read:
    case Operation::write:
    case Operation::pread:
    case Operation::pwrite:
      return transfer(rank, index);
    case Operation::close:
      close(rank, index);
      return true;
    case Operation::lseek:
      seek(rank, index);
      return true;
    case Operation::fsync:
      checked_handle(rank, index);
      ++sums_of(index).calls;
      return true;
    default:
      return name(rank, index);
  }
}

bool Files::open(Rank& rank, std::int32_t index) {
  OpenFile& opened = open_[key_of(index, rank.op.peer)];
  const std::string fault = opened.handle.fault(Operation::open, rank.op.peer);
  if (!fault.empty()) fail(rank, fault);
  if (!has_answer(rank, index)) return false;
  const Call& call = runtime_.jobs.call_of(rank);
  const std::string name = asked_name(rank);
  const std::int32_t disk = std::exchange(answer_, kNoDisk);
  const auto size = static_cast<std::int64_t>(call.arguments.front());
  std::int32_t file = table_.find(disk, name);
  if (file == FileTable::kNone) {
    const bool is_new = has_flag(call, 'c') && size == kUnknownSize;
    file = table_.add(disk, name, is_new ? 0 : size);
  } else if (has_flag(call, 'c') && has_flag(call, 'x')) {
    fail(rank, "creates " + table_.name(file) + ", which exists; without the flag x it is opened");
  }
  if (has_flag(call, 't')) table_.truncate(file);
  ++table_[file].handles;
  opened.file = file;
  opened.position = 0;
  opened.handle.open(call.words[1], rank.op.line);
  ++sums_of(index).calls;
  return true;
}

// stat, unlink, mkdir
bool Files::name(Rank& rank, std::int32_t index) {
  if (!has_answer(rank, index)) return false;
  const std::int32_t disk = std::exchange(answer_, kNoDisk);
  if (file_call_of(rank.op) == Operation::unlink) {
    const std::int32_t file = table_.find(disk, asked_name(rank));
    if (file != FileTable::kNone) table_.unlink(file);
  }
  ++sums_of(index).calls;
  return true;
}

void Files::close(Rank& rank, std::int32_t index) {
  OpenFile& closed = checked_handle(rank, index);
  closed.handle.close(rank.op.line);
  table_.release(std::exchange(closed.file, FileTable::kNone));
  ++sums_of(index).calls;
}

void Files::seek(Rank& rank, std::int32_t index) {
  const auto from = static_cast<SeekFrom>(runtime_.jobs.call_of(rank).arguments.front());
  OpenFile& opened = checked_handle(rank, index);
  const std::int64_t distance = source_.next(rank).bytes;
  std::int64_t base = 0;
  if (from == SeekFrom::position) base = opened.position;
  if (from == SeekFrom::end) base = table_[opened.file].length;
  if (from == SeekFrom::end && base == kUnknownSize) {
    fail(rank, "lseek from the end of " + table_.name(opened.file) +
                   ", whose length is not known; its open says it by size=BYTES");
  }
  if (__builtin_add_overflow(base, distance, &opened.position) || opened.position < 0) {
    fail(rank, "lseek by " + std::to_string(distance) + " from " + std::to_string(base) +
                   " does not end in a file");
  }
  ++sums_of(index).calls;
}

bool Files::transfer(Rank& rank, std::int32_t index) {
  const Operation call = file_call_of(rank.op);
  const std::int64_t bytes = rank.op.bytes;
  const bool writes = call == Operation::write || call == Operation::pwrite;
  const bool has_offset = call == Operation::pread || call == Operation::pwrite;
  OpenFile& opened = checked_handle(rank, index);
  const File& file = table_[opened.file];
  std::int64_t offset = has_offset ? source_.next(rank).bytes : opened.position;
  if (writes && opened.handle.appends && file.length != kUnknownSize) offset = file.length;
  if (!writes && file.length != kUnknownSize && bytes > file.length - offset) {
    fail(rank, "reads " + std::to_string(bytes) + " bytes from offset " + std::to_string(offset) +
                   " of " + table_.name(opened.file) + ", which ends at " +
                   std::to_string(file.length));
  }
  if (writes && !table_.write(opened.file, offset, bytes)) {
    fail(rank, "the disk of " + table_.name(opened.file) + " is full: there is no room for " +
                   std::to_string(bytes) + " bytes more");
  }
  if (!has_offset) opened.position = offset + bytes;
  FileSums& sums = sums_of(index);
  (writes ? sums.bytes_written : sums.bytes_read) += bytes;
  ++sums.calls;
  if (bytes == 0) return true;
  rank.since = runtime_.clock.now();
  rank.phase = Phase::accessing;
  accessed_[index] = file.disk;
  runtime_.disks.start(file.disk, writes ? Access::write : Access::read, static_cast<double>(bytes),
                       index, rank.since);
  return false;
}

void Files::finish(Rank& rank, std::int32_t index) {
  const double seconds = runtime_.clock.now() - rank.since;
  rank.other += seconds;
  sums_of(index).seconds += seconds;
  accessed_.erase(index);
}

void Files::abandon(std::int32_t index) {
  const auto accessed = accessed_.find(index);
  if (accessed == accessed_.end()) return;
  runtime_.disks.drop(accessed->second, index, runtime_.clock.now());
  accessed_.erase(accessed);
}

std::string Files::asked_name(const Rank& rank) const {
  return file_name(runtime_.jobs.call_of(rank).words.front(), rank.number);
}

bool Files::has_answer(Rank& rank, std::int32_t index) {
  if (answer_ != kNoDisk) return true;
  rank.phase = Phase::needs_disk;
  runtime_.interruption.ask_disk(index);
  return false;
}

Files::OpenFile& Files::checked_handle(const Rank& rank, std::int32_t index) {
  OpenFile& opened = open_[key_of(index, rank.op.peer)];
  const std::string fault = opened.handle.fault(file_call_of(rank.op), rank.op.peer);
  if (!fault.empty()) fail(rank, fault);
  return opened;
}

FileSums& Files::sums_of(std::int32_t index) {
  if (sums_.size() <= static_cast<std::size_t>(index)) sums_.resize(runtime_.ranks.size());
  return sums_[static_cast<std::size_t>(index)];
}

void Files::fail(const Rank& rank, const std::string& message) const {
  char date[32];
  std::snprintf(date, sizeof date, "%.9g", runtime_.clock.now());
  runtime_.jobs.fail(rank, message + " (at " + date + " s)");
}

}  // namespace tisim
