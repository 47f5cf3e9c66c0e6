// How programs use files, in the terms of Darshan: the sizes of their reads and writes, and whether
// each one begins where the previous one ended.
//
// Files with the same name in the trace are summed up: a million files `out.%05d` are one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tisim {

// Exclusive upper bounds of all size classes but the last, in bytes (as in Darshan's counters
// SIZE_READ_0_100 to SIZE_READ_1G_PLUS).
inline constexpr std::array<std::int64_t, 9> kSizeBounds{
    100, 1'000, 10'000, 100'000, 1'000'000, 4'000'000, 10'000'000, 100'000'000, 1'000'000'000,
};

// Reads or writes.
struct AccessCounters {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::int64_t sequential = 0;   // begin at or after the end of the handle's previous access
  std::int64_t consecutive = 0;  // begin exactly there
  std::int64_t aligned = 0;      // begin at a multiple of the alignment
  std::array<std::int64_t, kSizeBounds.size() + 1> sizes{};  // calls of each class
};

// Files with one name on one file system.
struct FileUse {
  std::string name;               // as in the trace; empty: all files beyond kMaxNames
  std::int32_t file_system = -1;  // -1: on disks of hosts
  std::int64_t alignment = 0;     // bytes
  std::int64_t opens = 0;
  double seconds = 0.0;  // spent in reads and writes
  AccessCounters reads, writes;
};

class AccessPatterns {
 public:
  // Maximum number of names kept apart; files with further names are counted together.
  static constexpr std::size_t kMaxNames = 256;

  // End offsets of the last accesses of an open file.
  struct Ends {
    std::int32_t use = -1;
    std::int64_t read = -1, written = -1;
  };

  // Counts an open of a file.
  Ends open(const std::string& name, std::int32_t file_system, std::int64_t alignment) {
    const std::string key = name + '\0' + std::to_string(file_system);
    auto entry = numbers_.find(key);
    if (entry == numbers_.end()) {
      const bool is_known = numbers_.size() < kMaxNames;
      if (!is_known && other_ < 0) other_ = add("", file_system, alignment);
      if (!is_known) {
        ++uses_[static_cast<std::size_t>(other_)].opens;
        return {.use = other_};
      }
      entry = numbers_.emplace(key, add(name, file_system, alignment)).first;
    }
    ++uses_[static_cast<std::size_t>(entry->second)].opens;
    return {.use = entry->second};
  }

  // `behind` is the offset after the last byte: with holes, more than offset plus bytes.
  void access(Ends& ends, bool writes, std::int64_t offset, std::int64_t bytes,
              std::int64_t behind) {
    if (ends.use < 0) return;
    FileUse& use = uses_[static_cast<std::size_t>(ends.use)];
    AccessCounters& counters = writes ? use.writes : use.reads;
    std::int64_t& end = writes ? ends.written : ends.read;
    ++counters.calls;
    counters.bytes += bytes;
    if (end >= 0 && offset >= end) ++counters.sequential;
    if (end >= 0 && offset == end) ++counters.consecutive;
    if (offset % use.alignment == 0) ++counters.aligned;
    std::size_t size = 0;
    while (size < kSizeBounds.size() && bytes >= kSizeBounds[size]) ++size;
    ++counters.sizes[size];
    end = behind;
  }

  void add_seconds(std::int32_t use, double seconds) {
    uses_[static_cast<std::size_t>(use)].seconds += seconds;
  }

  const std::vector<FileUse>& uses() const { return uses_; }

 private:
  std::int32_t add(const std::string& name, std::int32_t file_system, std::int64_t alignment) {
    FileUse& use = uses_.emplace_back();
    use.name = name;
    use.file_system = file_system;
    use.alignment = alignment;
    return static_cast<std::int32_t>(uses_.size() - 1);
  }

  std::vector<FileUse> uses_;
  std::unordered_map<std::string, std::int32_t> numbers_;  // by name and file system
  std::int32_t other_ = -1;
};

}  // namespace tisim
