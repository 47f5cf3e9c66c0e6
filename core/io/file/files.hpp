// File calls of ranks: handles, positions, and the disks and file systems that calls take their
// time on.
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
#include "io/file/range_locks.hpp"
#include "io/file/started_accesses.hpp"
#include "io/storage/file_systems.hpp"
#include "mpi/mpi.hpp"
#include "mpi/runtime.hpp"
#include "platform/routes.hpp"
#include "support/time_bins.hpp"
#include "trace/habits/file_habits.hpp"
#include "trace/vocabulary/file_view.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

// A call on a view with holes. Its pieces are read or written one after the other. With data
// sieving one buffer replaces all pieces in it; to write, it is locked, read, written and unlocked.
struct PiecewiseAccess {
  enum class Step : std::uint8_t { piece, lock, read, write, unlock };

  const FileView* view = nullptr;
  std::int32_t file = 0;
  std::int32_t use = -1;  // of `FileHabits::uses`
  bool writes = false;
  bool makes_request = false;  // that is complete at once
  std::int64_t position = 0;   // in the view, of what is left
  std::int64_t left = 0;       // bytes
  std::int64_t end = 0;        // behind the last byte, in the file
  std::int64_t buffer = 0;     // bytes; 0: no data sieving
  Step step = Step::piece;
  std::int64_t begin = 0;  // of the buffer at hand, in the file
  std::int64_t size = 0;   // its bytes

  // The next buffer begins at the first byte that is left.
  void next_buffer() {
    begin = view->place(position);
    size = end - begin < buffer ? end - begin : buffer;
    const std::int64_t shown = view->position_before(begin + size) - position;
    const std::int64_t moved = shown < left ? shown : left;
    position += moved;
    left -= moved;
  }
};

// Reads and writes that are going on, and what the files of each name carry over time.
class FileTransfers {
 public:
  struct Transfer {
    std::int32_t use = -1;  // of `FileHabits::uses`
    bool writes = false;
    std::int64_t bytes = 0;
  };

  // `moved` takes the bytes over time.
  explicit FileTransfers(TimeBins& moved) : moved_(moved) {}

  FileHabits::Ends open(const std::string& name, std::int32_t file_system, std::int64_t alignment) {
    const FileHabits::Ends ends = habits_.open(name, file_system, alignment);
    while (series_.size() < 2 * habits_.uses().size()) series_.push_back(moved_.add_series());
    return ends;
  }

  // One that takes no time ends at once and is not told.
  Transfer access(FileHabits::Ends& ends, bool writes, std::int64_t offset, std::int64_t bytes,
                  std::int64_t behind) {
    habits_.access(ends, writes, offset, bytes, behind);
    return {ends.use, writes, bytes};
  }

  // A rank waits for it.
  void begin(std::int32_t rank, const Transfer& transfer) { of_rank_[rank] = transfer; }
  void end(std::int32_t rank, double since, double now) {
    const auto transfer = of_rank_.find(rank);
    if (transfer == of_rank_.end()) return;
    if (transfer->second.use >= 0) habits_.take_seconds(transfer->second.use, now - since);
    spread(transfer->second, since, now);
    of_rank_.erase(transfer);
  }

  // It goes on while its rank does; the activity ends with it.
  void start(std::int32_t activity, const Transfer& transfer, double now) {
    of_activity_.emplace(activity, std::pair{transfer, now});
  }
  void end_started(std::int32_t activity, bool failed, double now) {
    const auto transfer = of_activity_.find(activity);
    if (!failed) spread(transfer->second.first, transfer->second.second, now);
    of_activity_.erase(transfer);
  }

  const FileHabits& habits() const { return habits_; }
  // For each use, the series of the bytes read, followed by that of the bytes written.
  const std::vector<std::size_t>& series() const { return series_; }

 private:
  void spread(const Transfer& transfer, double since, double now) {
    if (transfer.use < 0) return;
    const std::size_t place =
        static_cast<std::size_t>(transfer.use) * 2 + (transfer.writes ? 1 : 0);
    moved_.spread(series_[place], since, now, static_cast<double>(transfer.bytes));
  }

  TimeBins& moved_;
  FileHabits habits_;
  std::vector<std::size_t> series_;
  std::unordered_map<std::int32_t, Transfer> of_rank_;
  std::unordered_map<std::int32_t, std::pair<Transfer, double>> of_activity_;  // and since when
};

// The use of files by a rank.
struct FileSums {
  double seconds = 0.0;  // that it was held up
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t calls = 0;
};

// A write that its disk has no room for.
struct FullDisk {
  std::int32_t rank = -1;              // in the simulation
  std::int32_t disk = -1;              // further numbers are those of file systems
  std::string file;                    // its name in quotes
  double capacity = 0.0;               // bytes, of the disk
  double used = 0.0;                   // of these
  std::int64_t offset = 0, bytes = 0;  // of the write
  std::int64_t wanted = 0;             // bytes of these that take room
};

class Files {
 public:
  Files(const Runtime& runtime, Mpi& mpi, const PlatformData& platform, FileSystems& file_systems,
        Activities& activities);
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // Carries out an operation of kind `file`. False: the rank waits, its phase says for what.
  bool begin(Rank& rank, std::int32_t index);
  // A schedule of the rank's collective read or write has ended.
  bool next_stage(Rank& rank, std::int32_t index) { return collective_.next_stage(rank, index); }
  // The call that a schedule is asked for, and on what its file lies (numbered after all disks: a
  // file system).
  const CollectiveTransfer& asked_transfer(std::int32_t index) const {
    return collective_.of_rank(index);
  }
  // Python has found a route to a server: what was begun goes on. False: the rank waits.
  bool ask_servers(Rank& rank, std::int32_t index);
  // The read or write of the rank, or its call to a file system, is over. False: it was a part of a
  // call that goes on.
  bool finish(Rank& rank, std::int32_t index);
  // An activity has ended. False: it is not a read or write that its rank does not wait for.
  bool end_started(std::int32_t activity, bool failed);
  // The rank dies in a read or write.
  void abandon(std::int32_t index);

  // A process on a host reads or writes a file of a file system. False: a route is missing.
  bool access(std::int32_t file_system, std::string_view name, FileRequest request,
              std::int32_t client, std::int32_t owner);

  // The file whose disk a rank asks for (Stop::need_disk), and the answer.
  std::string asked_name(const Rank& rank) const;
  void answer(std::int32_t disk) { answer_ = disk; }

  // Why the run stopped with Stop::disk_full.
  const FullDisk& full_disk() const { return full_disk_; }

  // Sums of the ranks that have made file calls, by number; shorter where the last have made none.
  const std::vector<FileSums>& sums() const { return sums_; }
  // Transfers of files by name; `FileSystems::moved` has the series of their bytes over time.
  const FileTransfers& transfers() const { return transfers_; }
  // Throws BrokenInvariant.
  void verify() const {
    table_.verify();
    started_.verify();
  }

 private:
  struct OpenFile {
    Handle handle;
    std::int32_t file = FileTable::kNone;
    std::int64_t position = 0;
    FileHabits::Ends ends;
    std::unique_ptr<const FileView> view;  // null: bytes of the file
  };
  // Bytes of a file that a call is about.
  struct Range {
    std::int64_t position = 0;  // in the view
    std::int64_t offset = 0;    // in the file
    std::int64_t bytes = 0;
    std::int64_t end = 0;  // in the file, behind the last byte

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
  // The rank's own part of a call, as in a call of its own. False: the rank waits.
  bool access_part(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                   const Range& range);
  // The rest of a part with holes.
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
  // False: there is no room, and the run stops.
  bool write(std::int32_t index, std::int32_t file, std::int64_t offset, std::int64_t bytes);
  // `more`: bytes of these that take room.
  bool write(std::int32_t index, std::int32_t file, const Range& range, std::int64_t more);
  // The next bytes of an access with holes, however many pieces these are.
  bool write_pieces(std::int32_t index, const PiecewiseAccess& access, std::int64_t bytes);

  // The time of a call begins. False: the rank waits for it; true: it takes none.
  bool ask(Rank& rank, std::int32_t index, std::int32_t disk, FileRequest request);
  // The same without waiting, unless a route is missing.
  bool start(Rank& rank, std::int32_t index, std::int32_t disk, FileRequest request,
             const FileTransfers::Transfer& transfer);
  bool ask_metadata(Rank& rank, std::int32_t index, std::int32_t disk) {
    return ask(rank, index, disk, {.type = FileRequest::Type::metadata});
  }
  std::int32_t add_file(std::int32_t disk, std::string_view name, std::int64_t length);
  bool is_file_system(std::int32_t disk) const { return disk >= disks_; }

  // The disk that Python has said; none: it is asked.
  bool has_answer(Rank& rank, std::int32_t index);
  OpenFile& checked_handle(const Rank& rank, std::int32_t index);
  // The position that the rank's call moves.
  std::int64_t& position_of(const Rank& rank, OpenFile& opened);
  FileSums& sums_of(std::int32_t index);
  FileHabits::Ends habits_of(const Call& call, std::int32_t disk);
  [[noreturn]] void fail(const Rank& rank, const std::string& message) const;

  static constexpr std::int32_t kNoDisk = -1;

  Runtime runtime_;
  OperationSource& source_;
  FileSystems& file_systems_;
  StartedAccesses started_;
  Schedules& schedules_;
  CollectiveTransfers collective_;
  std::int32_t disks_;              // further numbers are those of file systems
  std::vector<double> capacities_;  // bytes of each disk, then of each file system
  FileTable table_;
  std::unordered_map<std::uint64_t, OpenFile> open_;                 // by rank and handle
  std::unordered_map<std::int32_t, std::int64_t> shared_positions_;  // by file, of MPI-IO
  std::unordered_map<std::int32_t, std::int32_t> accessed_;          // disk that a rank waits for
  std::vector<FileSums> sums_;
  FileTransfers transfers_;
  std::unordered_map<std::int32_t, PiecewiseAccess> piecewise_;  // by rank
  RangeLocks locks_;
  std::int32_t answer_ = kNoDisk;
  FullDisk full_disk_;
  FileRequest asked_;              // for which a route is missing
  std::int32_t asked_owner_ = -1;  // who is told of its end
};

}  // namespace tisim
