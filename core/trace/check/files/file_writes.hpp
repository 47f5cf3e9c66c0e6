// What one rank of a trace writes where, for a check.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "trace/check/files/written_ranges.hpp"
#include "trace/vocabulary/views/file_view.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

class FileWrites {
 public:
  FileWrites(std::int32_t rank, WrittenRanges& written) : rank_(rank), written_(written) {}

  // Takes the operation at hand into account.
  void take(const RankWalk& walk);

  // A repetition of a loop begins here.
  void begin_repetition();
  // So many repetitions that do the same as the last one are skipped.
  void repeat(std::uint64_t times);

 private:
  static constexpr std::int64_t kUnknown = -1;
  static constexpr std::size_t kMostWrites = 4096;  // of a repetition, that are told apart

  struct OpenFile {
    std::int32_t file = 0;
    std::int64_t position = 0;         // kUnknown: behind what others have written
    std::int64_t position_before = 0;  // at the beginning of the repetition
    bool appends = false;
    std::shared_ptr<const FileView> view;  // null: bytes of the file
  };
  // A write of the repetition at hand.
  struct Write {
    std::int32_t handle = 0;
    bool moves = false;  // the position, by which it is found
    WrittenRanges::Interval interval;
    WrittenRanges::Range range;  // in the view
    std::shared_ptr<const FileView> view;
  };

  void take_call(const RankWalk& walk, const Op& op);
  void open(const RankWalk& walk, const Op& op);
  void transfer(const Op& op, std::int64_t offset, bool has_offset);
  void synchronise(const Op& op);
  void set_view(const RankWalk& walk, const Op& op);
  // Where the view has the range.
  void add(const WrittenRanges::Interval& interval, const WrittenRanges::Range& range,
           const FileView* view);
  WrittenRanges::Interval interval_of(std::int32_t file);

  std::int32_t rank_;
  WrittenRanges& written_;
  std::map<std::int32_t, OpenFile> open_;          // by handle
  std::map<std::int32_t, std::uint64_t> of_file_;  // points of each file
  std::uint64_t of_world_ = 0;                     // points of all ranks
  std::uint64_t of_world_before_ = 0;              // at the beginning of the repetition
  Op waiting_;                                     // a call whose offset follows
  std::int32_t from_ = 0;                          // of a seek that waits (SeekFrom)
  std::vector<Write> writes_;                      // of the repetition
  bool in_loop_ = false;
};

}  // namespace tisim
