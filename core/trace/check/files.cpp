#include "trace/check/files.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "support/mixing.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

namespace {

using Range = WrittenRanges::Range;

// Two ranges of different ranks with a common byte.
struct Overlap {
  Range first;
  Range second;
};

std::optional<Overlap> first_overlap(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.rank) < std::pair(b.begin, b.rank);
  });
  // The range with the largest end so far, and the one with the largest end of another rank.
  Range last;
  Range other;
  for (const Range& range : ranges) {
    const Range& before = range.rank == last.rank ? other : last;
    if (range.begin < before.end) return Overlap{before, range};
    if (range.end <= last.end) {
      if (range.rank != last.rank && range.end > other.end) other = range;
      continue;
    }
    if (range.rank != last.rank) other = last;
    last = range;
  }
  return std::nullopt;
}

}  // namespace

std::int32_t WrittenRanges::file(const std::string& name) {
  const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return entry->second;
}

void WrittenRanges::add(const Interval& interval, const Range& range) {
  if (range.begin >= range.end || count_ >= kMaxRanges) return;
  std::vector<Range>& ranges = ranges_[interval];
  if (!ranges.empty() && ranges.back().rank == range.rank && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
    return;
  }
  ranges.push_back(range);
  ++count_;
}

void WrittenRanges::report(const TraceSet& set, Findings& findings) const {
  std::int32_t reported = -1;  // intervals of a file are adjacent
  for (const auto& [interval, ranges] : ranges_) {
    if (interval.file == reported) continue;
    const std::optional<Overlap> overlap = first_overlap(ranges);
    if (!overlap) continue;
    reported = interval.file;
    const auto& [first, second] = *overlap;
    findings.add(
        {Severity::warning, second.rank, set.file(second.rank), second.line,
         "writes bytes " + std::to_string(second.begin) + " to " +
             std::to_string(std::min(first.end, second.end) - 1) + " of '" +
             names_[static_cast<std::size_t>(interval.file)] + "', which rank " +
             std::to_string(first.rank) + " also writes (line " + std::to_string(first.line) +
             "), without synchronisation of all ranks in between: the final content depends on "
             "time"});
  }
}

void OpenFiles::take(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  // This rank's part of a synchronising call was handled together with the call.
  if (op.kind != Kind::file || (op.flags & kContinuation) != 0) return;
  const Operation call = file_call_of(op);
  if (!has_handle(call)) return;
  Handle& handle = handles_[op.peer];
  const std::string error = handle.error_of(call, op.peer);
  if (!error.empty()) {
    findings.add({Severity::error, rank_, walk.reader().file(), op.line, error});
  }
  const Operation does = posix_equivalent(call);
  if (begins_split(call) || ends_split(call)) handle.step(call, op.line);
  if (does == Operation::open) handle.open(walk.call().words[1], op.line);
  if (does == Operation::close && handle.is_open) handle.close(op.line);
}

std::uint64_t OpenFiles::signature(const LoopLines& lines) const {
  std::uint64_t hash = handles_.size();
  for (const auto& [number, handle] : handles_) {
    hash = mixed(hash, static_cast<std::uint64_t>(number));
    hash = mixed(hash, lines.relative(handle.opened));
    hash = mixed(hash, lines.relative(handle.closed));
    hash = mixed(hash, static_cast<std::uint64_t>(handle.begun));
    if (handle.begun != Operation::barrier) hash = mixed(hash, lines.relative(handle.begun_at));
    hash = mixed(hash, (handle.is_open ? 8U : 0U) + (handle.reads ? 4U : 0U) +
                           (handle.writes ? 2U : 0U) + (handle.appends ? 1U : 0U));
  }
  return hash;
}

void OpenFiles::skip(const SkippedLines& skipped) {
  for (auto& [number, handle] : handles_) {
    handle.opened = skipped.moved(handle.opened);
    handle.begun_at = skipped.moved(handle.begun_at);
    handle.closed = skipped.moved(handle.closed);
  }
}

namespace {

// True if the collective synchronises all ranks of the communicator.
bool synchronises_all_ranks(Operation operation) {
  switch (operation) {
    case Operation::barrier:
    case Operation::allreduce:
    case Operation::alltoall:
    case Operation::alltoallv:
    case Operation::allgather:
    case Operation::allgatherv:
    case Operation::reducescatter:
      return true;
    default:
      return false;
  }
}

// True if data written before a collective call on a file is visible to all ranks after it.
bool orders_writes(Operation call) {
  switch (call) {
    case Operation::file_open:
    case Operation::file_close:
    case Operation::file_sync:
    case Operation::file_set_view:
    case Operation::file_set_size:
    case Operation::file_preallocate:
      return true;
    default:
      return false;
  }
}

}  // namespace

void FileWrites::take(const RankWalk& walk) {
  const Op& op = walk.op();
  if (op.kind == Kind::collective && (op.flags & kContinuation) == 0) {
    if (op.comm == 0 && synchronises_all_ranks(walk.call().operation)) ++world_syncs_;
  } else if (op.kind == Kind::file) {
    take_call(walk, op);
  } else if (op.kind == Kind::file_offset) {
    if (posix_equivalent(file_call_of(pending_call_)) != Operation::lseek) {
      transfer(pending_call_, op.bytes, true);
    } else if (const auto entry = open_.find(pending_call_.peer); entry != open_.end()) {
      std::int64_t& position = entry->second.position;
      if (seek_from_ == static_cast<std::int32_t>(SeekFrom::beginning)) position = op.bytes;
      if (seek_from_ == static_cast<std::int32_t>(SeekFrom::end)) position = kUnknown;
      if (seek_from_ == static_cast<std::int32_t>(SeekFrom::position) && position != kUnknown) {
        position += op.bytes;
      }
    }
  }
}

void FileWrites::take_call(const RankWalk& walk, const Op& op) {
  const Operation call = file_call_of(op);
  const bool is_first = (op.flags & kContinuation) == 0;
  if (file_traits_of(call).synchronises && is_first) {
    if (orders_writes(call)) synchronise(op);
    return;
  }
  switch (posix_equivalent(call)) {
    case Operation::open:
      open(walk, op);
      if (op.comm != 0) ++file_syncs_[open_[op.peer].file];
      break;
    case Operation::close:
      open_.erase(op.peer);
      break;
    case Operation::file_set_view:
      set_view(walk, op);
      break;
    case Operation::read:
    case Operation::write:
      transfer(op, 0, false);
      break;
    case Operation::lseek:
      seek_from_ = static_cast<std::int32_t>(walk.call().arguments.front());
      pending_call_ = op;
      break;
    case Operation::pread:
    case Operation::pwrite:
      pending_call_ = op;
      break;
    default:
      break;
  }
}

void FileWrites::synchronise(const Op& op) {
  const auto entry = open_.find(op.peer);
  if (op.comm == 0) {
    ++world_syncs_;
  } else if (entry != open_.end()) {
    ++file_syncs_[entry->second.file];
  }
}

void FileWrites::open(const RankWalk& walk, const Op& op) {
  const Call& call = walk.call();
  OpenFile& opened = open_[op.peer];
  opened = OpenFile{};
  opened.file = written_.file(file_name(call.words.front(), rank_));
  Handle handle;
  handle.open(call.words[1], op.line);
  opened.appends = handle.appends;
}

void FileWrites::transfer(const Op& op, std::int64_t offset, bool has_offset) {
  const auto entry = open_.find(op.peer);
  const Operation call = file_call_of(op);
  if (entry == open_.end() || file_traits_of(call).is_shared) return;
  OpenFile& opened = entry->second;
  const Operation does = posix_equivalent(call);
  const bool writes = does == Operation::write || does == Operation::pwrite;
  const std::int64_t begin = has_offset ? offset : opened.position;
  if (begin != kUnknown && writes && !opened.appends) {
    const WrittenRanges::Interval interval = interval_of(opened.file);
    const WrittenRanges::Range range{begin, begin + op.bytes, rank_, op.line};
    add(interval, range, opened.view.get());
    if (in_loop_ && writes_.size() < kMaxWrites) {
      writes_.push_back({op.peer, !has_offset, interval, range, opened.view});
    }
  }
  if (!has_offset && begin != kUnknown) opened.position = begin + op.bytes;
}

void FileWrites::set_view(const RankWalk& walk, const Op& op) {
  const auto entry = open_.find(op.peer);
  if (entry == open_.end()) return;
  OpenFile& opened = entry->second;
  const std::vector<double>& numbers = walk.call().arguments;
  if (opened.view || !numbers.empty()) opened.position = 0;
  opened.view = numbers.empty() ? nullptr : std::make_shared<const FileView>(numbers);
}

void FileWrites::add(const WrittenRanges::Interval& interval, const WrittenRanges::Range& range,
                     const FileView* view) {
  if (view == nullptr) return written_.add(interval, range);
  std::int64_t position = range.begin;
  if (view->end(position, range.end - position) == FileView::kBeyond) return;
  while (position < range.end && written_.has_room()) {
    const FileView::Piece piece = view->first_piece(position, range.end - position);
    written_.add(interval, {piece.offset, piece.offset + piece.bytes, range.rank, range.line});
    position += piece.bytes;
  }
}

WrittenRanges::Interval FileWrites::interval_of(std::int32_t file) {
  const auto points = file_syncs_.find(file);
  return {file, world_syncs_, points == file_syncs_.end() ? 0 : points->second};
}

void FileWrites::begin_repetition() {
  writes_.clear();
  in_loop_ = true;
  world_syncs_before_ = world_syncs_;
  for (auto& [handle, opened] : open_) opened.position_before = opened.position;
}

void FileWrites::repeat(std::uint64_t times) {
  // Skipped repetitions equal the one that was read, and so do their overlaps with those of other
  // ranks, unless they contain no point at which the ranks synchronise.
  const bool is_one_interval = world_syncs_ == world_syncs_before_;
  world_syncs_ += times * (world_syncs_ - world_syncs_before_);
  for (const Write& write : writes_) {
    const auto entry = open_.find(write.handle);
    if (!is_one_interval || !write.moves || entry == open_.end()) continue;
    const std::int64_t step = entry->second.position - entry->second.position_before;
    if (step == 0) continue;
    WrittenRanges::Range range = write.range;
    if (step == range.end - range.begin) {
      range.begin = range.end;
      range.end += step * static_cast<std::int64_t>(times);
      add(write.interval, range, write.view.get());
      continue;
    }
    for (std::uint64_t i = 0; i < times && written_.has_room(); ++i) {
      range.begin += step;
      range.end += step;
      add(write.interval, range, write.view.get());
    }
  }
  for (auto& [handle, opened] : open_) {
    if (opened.position == kUnknown || opened.position_before == kUnknown) continue;
    opened.position +=
        (opened.position - opened.position_before) * static_cast<std::int64_t>(times);
  }
}

}  // namespace tisim
