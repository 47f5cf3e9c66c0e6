// Files in traces: open handles, written ranges and concurrent overlapping writes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/archive/trace_set.hpp"
#include "trace/check/finding.hpp"
#include "trace/vocabulary/file_view.hpp"
#include "trace/vocabulary/files.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Records the byte ranges each rank writes to each file and detects concurrent overlapping writes.
class WrittenRanges {
 public:
  // Writes between two synchronisation points of the ranks are unordered.
  struct Interval {
    std::int32_t file = 0;
    std::uint64_t world_syncs = 0;  // earlier synchronisation points of all ranks
    std::uint64_t file_syncs = 0;   // earlier ones of the ranks that opened the file

    friend auto operator<=>(const Interval&, const Interval&) = default;
  };
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // one past the last byte
    std::int32_t rank = 0;
    std::uint32_t line = 0;
  };

  std::int32_t file(const std::string& name);
  void add(const Interval& interval, const Range& range);
  bool has_room() const { return count_ < kMaxRanges; }
  // Adds a warning for each file in which two ranks write the same bytes in the same interval.
  void report(const TraceSet& set, Findings& findings) const;

 private:
  // Maximum number of ranges kept: a warning about the first ones is worth more than memory.
  static constexpr std::size_t kMaxRanges = 1U << 20;

  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::string> names_;
  std::map<Interval, std::vector<Range>> ranges_;
  std::size_t count_ = 0;
};

// The handles of one rank of a trace, for a check.
class OpenFiles {
 public:
  explicit OpenFiles(std::int32_t rank) : rank_(rank) {}

  // Adds an error for a call on a handle that is closed, already open or opened for other calls.
  void take(const RankWalk& walk, Findings& findings);

  // Hash of the handles, and their update for skipped lines.
  std::uint64_t signature(const LoopLines& lines) const;
  void skip(const SkippedLines& skipped);

 private:
  std::int32_t rank_;
  std::map<std::int32_t, Handle> handles_;
};

// The ranges that one rank of a trace writes, for a check.
class FileWrites {
 public:
  FileWrites(std::int32_t rank, WrittenRanges& written) : rank_(rank), written_(written) {}

  // Adds the current operation.
  void take(const RankWalk& walk);

  // Marks the beginning of a repetition of a loop.
  void begin_repetition();
  // Skips `times` repetitions that do the same as the last one.
  void repeat(std::uint64_t times);

 private:
  static constexpr std::int64_t kUnknown = -1;
  static constexpr std::size_t kMaxWrites = 4096;  // kept per repetition

  struct OpenFile {
    std::int32_t file = 0;
    std::int64_t position = 0;         // kUnknown: after the data of other ranks
    std::int64_t position_before = 0;  // at the beginning of the repetition
    bool appends = false;
    std::shared_ptr<const FileView> view;  // null: bytes of the file
  };
  // A write of the current repetition.
  struct Write {
    std::int32_t handle = 0;
    bool moves = false;  // advances the position, which gave its offset
    WrittenRanges::Interval interval;
    WrittenRanges::Range range;  // in bytes of the view
    std::shared_ptr<const FileView> view;
  };

  void take_call(const RankWalk& walk, const Op& op);
  void open(const RankWalk& walk, const Op& op);
  void transfer(const Op& op, std::int64_t offset, bool has_offset);
  void synchronise(const Op& op);
  void set_view(const RankWalk& walk, const Op& op);
  // Adds the parts of the file that the view shows in the range.
  void add(const WrittenRanges::Interval& interval, const WrittenRanges::Range& range,
           const FileView* view);
  WrittenRanges::Interval interval_of(std::int32_t file);

  std::int32_t rank_;
  WrittenRanges& written_;
  std::map<std::int32_t, OpenFile> open_;             // by handle
  std::map<std::int32_t, std::uint64_t> file_syncs_;  // synchronisation points of each file
  std::uint64_t world_syncs_ = 0;                     // synchronisation points of all ranks
  std::uint64_t world_syncs_before_ = 0;              // at the beginning of the repetition
  Op pending_call_;                                   // a call whose offset follows
  std::int32_t seek_from_ = 0;                        // of a pending seek (SeekFrom)
  std::vector<Write> writes_;                         // of the repetition
  bool in_loop_ = false;
};

}  // namespace tisim
