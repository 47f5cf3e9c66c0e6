// What ranks do with files: handles, positions, and the disks that reads and writes take their time
// on.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "file/file_table.hpp"
#include "host/disks.hpp"
#include "mpi/rank/operation_source.hpp"
#include "mpi/rank/runtime.hpp"
#include "platform/routes.hpp"
#include "trace/vocabulary/file_handle.hpp"

namespace tisim {

// What a rank has done with files.
struct FileSums {
  double seconds = 0.0;  // that it was held up
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t calls = 0;
};

class Files {
 public:
  Files(const Runtime& runtime, OperationSource& source, const PlatformData& platform)
      : runtime_(runtime), source_(source), table_(platform.disk_size) {}
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // Carries out an operation of kind `file`. False: the rank waits, its phase says for what.
  bool begin(Rank& rank, std::int32_t index);
  // The read or write of the rank is over.
  void finish(Rank& rank, std::int32_t index);
  // The rank dies in a read or write.
  void abandon(std::int32_t index);

  // The file whose disk a rank asks for (Stop::need_disk), and the answer.
  std::string asked_name(const Rank& rank) const;
  void answer(std::int32_t disk) { answer_ = disk; }

  // Of the ranks that have called anything here, by their numbers; shorter where the last have not.
  const std::vector<FileSums>& sums() const { return sums_; }
  // Throws BrokenInvariant.
  void verify() const { table_.verify(); }

 private:
  struct OpenFile {
    Handle handle;
    std::int32_t file = FileTable::kNone;
    std::int64_t position = 0;
  };

  bool open(Rank& rank, std::int32_t index);
  bool name(Rank& rank, std::int32_t index);
  void close(Rank& rank, std::int32_t index);
  void seek(Rank& rank, std::int32_t index);
  bool transfer(Rank& rank, std::int32_t index);

  // The disk that Python has said; none: it is asked.
  bool has_answer(Rank& rank, std::int32_t index);
  OpenFile& checked_handle(const Rank& rank, std::int32_t index);
  FileSums& sums_of(std::int32_t index);
  [[noreturn]] void fail(const Rank& rank, const std::string& message) const;

  static constexpr std::int32_t kNoDisk = -1;

  Runtime runtime_;
  OperationSource& source_;
  FileTable table_;
  std::unordered_map<std::uint64_t, OpenFile> open_;         // by rank and handle
  std::unordered_map<std::int32_t, std::int32_t> accessed_;  // disk that a rank waits for
  std::vector<FileSums> sums_;
  std::int32_t answer_ = kNoDisk;
};

}  // namespace tisim
