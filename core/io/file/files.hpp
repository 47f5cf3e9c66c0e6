// File calls of ranks: handles, positions, and the disks and file systems on which calls take time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/disks.hpp"
#include "io/file/collective_transfers.hpp"
#include "io/file/file_table.hpp"
#include "io/file/nonblocking_accesses.hpp"
#include "io/file/range_locks.hpp"
#include "io/storage/file_systems.hpp"
#include "mpi/mpi.hpp"
#include "mpi/runtime.hpp"
#include "platform/routes.hpp"
#include "support/time_bins.hpp"
#include "trace/access/access_patterns.hpp"
#include "trace/vocabulary/file_view.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

// A call on a view with holes. Its pieces are accessed one after the other. With data sieving one
// buffer replaces all pieces within it; for a write, it is locked, read, written and unlocked.
struct PiecewiseAccess {
  enum class Step : std::uint8_t { piece, lock, read, write, unlock };

  const FileView* view = nullptr;
  std::int32_t file = 0;
  std::int32_t use = -1;  // index into `AccessPatterns::uses`
  bool writes = false;
  bool makes_request = false;  // whether it makes a request, complete at once
  std::int64_t position = 0;   // position of the remainder in the view
  std::int64_t left = 0;       // remaining bytes
  std::int64_t end = 0;        // end of the last byte in the file
  std::int64_t buffer = 0;     // bytes; 0: no data sieving
  Step step = Step::piece;
  std::int64_t begin = 0;  // offset of the current buffer in the file
  std::int64_t size = 0;   // size of the current buffer, bytes

  // Advances to the next buffer, which begins at the first remaining byte.
  void next_buffer() {
    begin = view->file_offset(position);
    size = end - begin < buffer ? end - begin : buffer;
    const std::int64_t shown = view->position_before(begin + size) - position;
    const std::int64_t moved = shown < left ? shown : left;
    position += moved;
    left -= moved;
  }
};

// Reads and writes in progress, and the bytes moved over time by file name.
class FileTransfers {
 public:
  struct Transfer {
    std::int32_t use = -1;  // index into `AccessPatterns::uses`
    bool writes = false;
    std::int64_t bytes = 0;
  };

  // `moved` records the bytes over time.
  explicit FileTransfers(TimeBins& moved) : moved_(moved) {}

  AccessPatterns::Ends open(const std::string& name, std::int32_t file_system,
                            std::int64_t alignment) {
    const AccessPatterns::Ends ends = patterns_.open(name, file_system, alignment);
    while (series_.size() < 2 * patterns_.uses().size()) series_.push_back(moved_.add_series());
    return ends;
  }

  // Records an access. One that takes no time needs no `begin` and `end`.
  Transfer access(AccessPatterns::Ends& ends, bool writes, std::int64_t offset, std::int64_t bytes,
                  std::int64_t behind) {
    patterns_.access(ends, writes, offset, bytes, behind);
    return {ends.use, writes, bytes};
  }

  // Begins a transfer that the rank waits for.
  void begin(std::int32_t rank, const Transfer& transfer) { of_rank_[rank] = transfer; }
  void end(std::int32_t rank, double since, double now) {
    const auto transfer = of_rank_.find(rank);
    if (transfer == of_rank_.end()) return;
    if (transfer->second.use >= 0) patterns_.add_seconds(transfer->second.use, now - since);
    spread(transfer->second, since, now);
    of_rank_.erase(transfer);
  }

  // Begins a transfer that overlaps with its rank; it ends with the activity.
  void start(std::int32_t activity, const Transfer& transfer, double now) {
    of_activity_.emplace(activity, std::pair{transfer, now});
  }
  void end_nonblocking(std::int32_t activity, bool failed, double now) {
    const auto transfer = of_activity_.find(activity);
    if (!failed) spread(transfer->second.first, transfer->second.second, now);
    of_activity_.erase(transfer);
  }

  const AccessPatterns& patterns() const { return patterns_; }
  // For each use, the series of bytes read, followed by that of bytes written.
  const std::vector<std::size_t>& series() const { return series_; }

 private:
  void spread(const Transfer& transfer, double since, double now) {
    if (transfer.use < 0) return;
    const std::size_t place =
        static_cast<std::size_t>(transfer.use) * 2 + (transfer.writes ? 1 : 0);
    moved_.spread(series_[place], since, now, static_cast<double>(transfer.bytes));
  }

  TimeBins& moved_;
  AccessPatterns patterns_;
  std::vector<std::size_t> series_;
  std::unordered_map<std::int32_t, Transfer> of_rank_;
  std::unordered_map<std::int32_t, std::pair<Transfer, double>> of_activity_;  // with start date
};

// File statistics of a rank.
struct FileStatistics {
  double seconds = 0.0;  // blocked in file calls
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t calls = 0;
};

// A write that does not fit on its disk.
struct FullDisk {
  std::int32_t rank = -1;              // global rank
  std::int32_t disk = -1;              // file systems are numbered after all disks
  std::string file;                    // file name in quotes
  double capacity = 0.0;               // bytes, of the disk
  double used = 0.0;                   // bytes
  std::int64_t offset = 0, bytes = 0;  // extent of the write
  std::int64_t wanted = 0;             // bytes of the write that need space
};

class Files {
 public:
  Files(const Runtime& runtime, Mpi& mpi, const PlatformData& platform, FileSystems& file_systems,
        Activities& activities);
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // Executes an operation of kind `file`. Returns false if the rank waits; its phase gives the
  // reason.
  bool begin(Rank& rank, std::int32_t index);
  // Called when a schedule of the rank's collective read or write has ended.
  bool next_stage(Rank& rank, std::int32_t index) { return collective_.next_stage(rank, index); }
  // The call for which a schedule is needed, with the disk of its file (file systems are numbered
  // after all disks).
  const CollectiveTransfer& asked_transfer(std::int32_t index) const {
    return collective_.of_rank(index);
  }
  // Resumes the rank's request after Python added a missing route to a server. Returns false if the
  // rank waits.
  bool ask_servers(Rank& rank, std::int32_t index);
  // Called when the rank's read, write or file system call has ended. Returns false if it was part
  // of a call that continues.
  bool finish(Rank& rank, std::int32_t index);
  // Handles the end of an activity. Returns false if it is not an asynchronous read or write.
  bool end_nonblocking(std::int32_t activity, bool failed);
  // The rank is killed in a read or write.
  void abandon(std::int32_t index);

  // A process on a host accesses a file of a file system. Returns false if a route is missing.
  bool access(std::int32_t file_system, std::string_view name, FileRequest request,
              std::int32_t client, std::int32_t owner);

  // The file whose disk a rank needs (Stop::need_disk), and the answer.
  std::string asked_name(const Rank& rank) const;
  void answer(std::int32_t disk) { answer_ = disk; }

  // The reason for Stop::disk_full.
  const FullDisk& full_disk() const { return full_disk_; }

  // Statistics by rank; trailing ranks without file calls are omitted.
  const std::vector<FileStatistics>& statistics() const { return statistics_; }
  // Transfers by file name; `FileSystems::moved` contains the series of their bytes over time.
  const FileTransfers& transfers() const { return transfers_; }
  // Throws BrokenInvariant.
  void verify() const {
    table_.verify();
    nonblocking_.verify();
  }

 private:
  struct OpenFile {
    Handle handle;
    std::int32_t file = FileTable::kNone;
    std::int64_t position = 0;
    AccessPatterns::Ends ends;
    std::unique_ptr<const FileView> view;  // null: plain bytes
  };
  // The bytes of a file that a call accesses.
  struct Range {
    std::int64_t position = 0;  // position in the view
    std::int64_t offset = 0;    // offset in the file
    std::int64_t bytes = 0;
    std::int64_t end = 0;  // end of the last byte in the file

    bool has_holes() const { return end - offset != bytes; }
  };

  static std::uint64_t handle_key(std::int32_t rank, std::int32_t handle) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32 |
           static_cast<std::uint32_t>(handle);
  }

  bool open(Rank& rank, std::int32_t index);
  bool name(Rank& rank, std::int32_t index);
  bool close(Rank& rank, std::int32_t index);
  void seek(Rank& rank, std::int32_t index);
  bool synchronise(Rank& rank, std::int32_t index);
  bool transfer(Rank& rank, std::int32_t index);
  bool begin_split(Rank& rank, std::int32_t index);
  bool end_split(Rank& rank, std::int32_t index);
  bool enter_transfer(Rank& rank, std::int32_t index);
  bool move_part(Rank& rank, std::int32_t index);
  void set_view(const Rank& rank, OpenFile& opened);
  Range range_of(const Rank& rank, const OpenFile& opened, std::int64_t position,
                 std::int64_t bytes) const;
  void check_end(const Rank& rank, std::int32_t file, std::int64_t offset,
                 std::int64_t bytes) const;
  // Executes the rank's own part of a call, as if called individually. Returns false if the rank
  // waits.
  bool access_part(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                   const Range& range);
  // Executes a part with holes, piece by piece or by data sieving.
  bool begin_pieces(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                    const Range& range);
  bool next_piece(Rank& rank, std::int32_t index);
  bool next_sieved(Rank& rank, std::int32_t index, PiecewiseAccess& access);
  bool move_piece(Rank& rank, std::int32_t index, const PiecewiseAccess& access, bool writes,
                  std::int64_t offset, std::int64_t bytes);
  void release_lock(const PiecewiseAccess& access, std::int32_t index);
  bool begin_access(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                    std::int64_t offset, std::int64_t bytes);
  bool resize(Rank& rank, std::int32_t index);
  // Returns false if the disk is full and the run stops.
  bool write(std::int32_t index, std::int32_t file, std::int64_t offset, std::int64_t bytes);
  // `more`: bytes of these that need space.
  bool write(std::int32_t index, std::int32_t file, const Range& range, std::int64_t more);
  // Writes the next bytes of an access with holes, in however many pieces.
  bool write_pieces(std::int32_t index, const PiecewiseAccess& access, std::int64_t bytes);

  // Starts the timed part of a call. Returns false if the rank waits, true if it takes no time.
  bool ask(Rank& rank, std::int32_t index, std::int32_t disk, FileRequest request);
  // The same without waiting, unless a route is missing.
  bool start(Rank& rank, std::int32_t index, std::int32_t disk, FileRequest request,
             const FileTransfers::Transfer& transfer);
  bool ask_metadata(Rank& rank, std::int32_t index, std::int32_t disk) {
    return ask(rank, index, disk, {.type = FileRequest::Type::metadata});
  }
  std::int32_t add_file(std::int32_t disk, std::string_view name, std::int64_t length);
  bool is_file_system(std::int32_t disk) const { return disk >= disks_; }

  // Whether Python has given the disk; if not, requests it.
  bool has_answer(Rank& rank, std::int32_t index);
  OpenFile& checked_handle(const Rank& rank, std::int32_t index);
  // The position that the rank's call advances.
  std::int64_t& position_of(const Rank& rank, OpenFile& opened);
  FileStatistics& statistics_of(std::int32_t index);
  AccessPatterns::Ends record_open(const Call& call, std::int32_t disk);
  [[noreturn]] void fail(const Rank& rank, const std::string& message) const;

  static constexpr std::int32_t kNoDisk = -1;

  Runtime runtime_;
  OperationSource& source_;
  FileSystems& file_systems_;
  NonblockingAccesses nonblocking_;
  Schedules& schedules_;
  CollectiveTransfers collective_;
  std::int32_t disks_;              // file systems are numbered from here on
  std::vector<double> capacities_;  // bytes, by disk, then by file system
  FileTable table_;
  std::unordered_map<std::uint64_t, OpenFile> open_;                 // by rank and handle
  std::unordered_map<std::int32_t, std::int64_t> shared_positions_;  // by file, of MPI-IO
  std::unordered_map<std::int32_t, std::int32_t> accessed_;          // disk that a rank waits for
  std::vector<FileStatistics> statistics_;
  FileTransfers transfers_;
  std::unordered_map<std::int32_t, PiecewiseAccess> piecewise_;  // by rank
  RangeLocks locks_;
  std::int32_t answer_ = kNoDisk;
  FullDisk full_disk_;
  FileRequest pending_request_;      // the request whose route is missing
  std::int32_t pending_owner_ = -1;  // notified of its end
};

}  // namespace tisim
