#include "trace/inspect/traced_files.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "trace/vocabulary/file_view.hpp"
#include "trace/vocabulary/files.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

namespace {

constexpr std::int64_t kPage = 4096;

// The open files of one rank.
class RankFiles {
 public:
  explicit RankFiles(AccessPatterns& patterns) : patterns_(patterns) {}

  // Takes the operation of a walk and those after it that belong to the same call.
  void take(RankWalk& walk) {
    const Op op = walk.op();
    if (op.kind != Kind::file) return;
    const Operation call = file_call_of(op);
    const bool is_first_part = file_traits_of(call).synchronises && (op.flags & kContinuation) == 0;
    if (!has_handle(call) || is_first_part) return;
    switch (posix_equivalent(call)) {
      case Operation::open:
        handles_[op.peer] = OpenFile{};
        handles_[op.peer].ends = patterns_.open(walk.call().words.front(), -1, kPage);
        return;
      case Operation::close:
        handles_.erase(op.peer);
        return;
      case Operation::file_set_view:
        set_view(walk.call(), handles_[op.peer]);
        return;
      case Operation::lseek:
        return seek(walk, handles_[op.peer]);
      case Operation::read:
      case Operation::write:
      case Operation::pread:
      case Operation::pwrite:
        return transfer(walk, handles_[op.peer]);
      default:
        return;
    }
  }

 private:
  struct OpenFile {
    AccessPatterns::Ends ends;
    std::int64_t position = 0;
    std::int64_t end = 0;  // of the rank's own accesses
    std::optional<FileView> view;
  };

  static void set_view(const Call& call, OpenFile& file) {
    if (file.view || !call.arguments.empty()) file.position = 0;
    file.view.reset();
    if (!call.arguments.empty()) file.view.emplace(call.arguments);
  }

  static void seek(RankWalk& walk, OpenFile& file) {
    const auto from = static_cast<SeekFrom>(walk.call().arguments.front());
    if (!walk.next()) return;
    std::int64_t base = 0;
    if (from == SeekFrom::position) base = file.position;
    if (from == SeekFrom::end) base = file.view ? file.view->position_before(file.end) : file.end;
    if (__builtin_add_overflow(base, walk.op().bytes, &file.position)) file.position = 0;
  }

  void transfer(RankWalk& walk, OpenFile& file) {
    const Operation call = posix_equivalent(file_call_of(walk.op()));
    const bool writes = call == Operation::write || call == Operation::pwrite;
    const std::int64_t bytes = walk.op().bytes;
    std::int64_t offset = file.position;
    if (call == Operation::pread || call == Operation::pwrite) {
      if (!walk.next()) return;
      offset = walk.op().bytes;
    }
    if (call == Operation::read || call == Operation::write) file.position = offset + bytes;
    std::int64_t behind = offset + bytes;
    if (file.view) {
      behind = file.view->end(offset, bytes);
      offset = file.view->file_offset(offset);
      if (behind == FileView::kBeyond) return;
    }
    patterns_.access(file.ends, writes, offset, bytes, behind);
    file.end = std::max(file.end, behind);
  }

  AccessPatterns& patterns_;
  std::map<std::int32_t, OpenFile> handles_;
};

}  // namespace

std::vector<FileUse> traced_files(const TraceSet& set, const Progress& progress) {
  AccessPatterns patterns;
  const auto ranks = static_cast<std::int32_t>(set.ranks());
  const Communicators communicators = Communicators::of(set, part_of(progress, 0.0, 0.5));
  const std::shared_ptr<CallTable> calls = RankWalk::shared_calls(set);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    RankWalk walk(set, communicators, rank, nullptr, RankWalk::kUsualBatch, calls);
    RankFiles files(patterns);
    while (walk.next()) files.take(walk);
    report_progress(progress,
                    0.5 + 0.5 * static_cast<double>(rank + 1) / static_cast<double>(ranks));
  }
  return patterns.uses();
}

}  // namespace tisim
