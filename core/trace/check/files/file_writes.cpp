#include "trace/check/files/file_writes.hpp"

#include "trace/vocabulary/file_handle.hpp"
#include "trace/vocabulary/file_name.hpp"

namespace tisim {

namespace {

// Whether all ranks of its communicator are in the collective at a time.
bool lets_all_wait(Operation operation) {
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

// Whether what was written before a collective call on a file is there for all ranks behind it.
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
    if (op.comm == 0 && lets_all_wait(walk.call().operation)) ++of_world_;
  } else if (op.kind == Kind::file) {
    take_call(walk, op);
  } else if (op.kind == Kind::file_offset) {
    if (own_part_of(file_call_of(waiting_)) != Operation::lseek) {
      transfer(waiting_, op.bytes, true);
    } else if (const auto found = open_.find(waiting_.peer); found != open_.end()) {
      std::int64_t& position = found->second.position;
      if (from_ == static_cast<std::int32_t>(SeekFrom::beginning)) position = op.bytes;
      if (from_ == static_cast<std::int32_t>(SeekFrom::end)) position = kUnknown;
      if (from_ == static_cast<std::int32_t>(SeekFrom::position) && position != kUnknown) {
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
  switch (own_part_of(call)) {
    case Operation::open:
      open(walk, op);
      if (op.comm != 0) ++of_file_[open_[op.peer].file];
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
      from_ = static_cast<std::int32_t>(walk.call().arguments.front());
      waiting_ = op;
      break;
    case Operation::pread:
    case Operation::pwrite:
      waiting_ = op;
      break;
    default:
      break;
  }
}

void FileWrites::synchronise(const Op& op) {
  const auto found = open_.find(op.peer);
  if (op.comm == 0) {
    ++of_world_;
  } else if (found != open_.end()) {
    ++of_file_[found->second.file];
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
  const auto found = open_.find(op.peer);
  const Operation call = file_call_of(op);
  if (found == open_.end() || file_traits_of(call).is_shared) return;
  OpenFile& opened = found->second;
  const Operation does = own_part_of(call);
  const bool writes = does == Operation::write || does == Operation::pwrite;
  const std::int64_t begin = has_offset ? offset : opened.position;
  if (begin != kUnknown && writes && !opened.appends) {
    const WrittenRanges::Interval interval = interval_of(opened.file);
    const WrittenRanges::Range range{begin, begin + op.bytes, rank_, op.line};
    add(interval, range, opened.view.get());
    if (in_loop_ && writes_.size() < kMostWrites) {
      writes_.push_back({op.peer, !has_offset, interval, range, opened.view});
    }
  }
  if (!has_offset && begin != kUnknown) opened.position = begin + op.bytes;
}

void FileWrites::set_view(const RankWalk& walk, const Op& op) {
  const auto found = open_.find(op.peer);
  if (found == open_.end()) return;
  OpenFile& opened = found->second;
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
  const auto points = of_file_.find(file);
  return {file, of_world_, points == of_file_.end() ? 0 : points->second};
}

void FileWrites::begin_repetition() {
  writes_.clear();
  in_loop_ = true;
  of_world_before_ = of_world_;
  for (auto& [handle, opened] : open_) opened.position_before = opened.position;
}

void FileWrites::repeat(std::uint64_t times) {
  // What is skipped is like the repetition that was read, and so is what it has in common with that
  // of others, unless the ranks wait for each other in none of them.
  const bool is_one_interval = of_world_ == of_world_before_;
  of_world_ += times * (of_world_ - of_world_before_);
  for (const Write& write : writes_) {
    const auto found = open_.find(write.handle);
    if (!is_one_interval || !write.moves || found == open_.end()) continue;
    const std::int64_t step = found->second.position - found->second.position_before;
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
