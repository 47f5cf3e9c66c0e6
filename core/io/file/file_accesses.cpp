// What ranks read and write, by themselves and in schedules of collective calls.
#include <algorithm>
#include <string>

#include "io/file/files.hpp"
#include "trace/vocabulary/file_name.hpp"

namespace tisim {

bool Files::transfer(Rank& rank, std::int32_t index) {
  const Operation call = own_part_of(file_call_of(rank.op));
  const std::int64_t bytes = rank.op.bytes;
  const bool writes = call == Operation::write || call == Operation::pwrite;
  const bool has_offset = call == Operation::pread || call == Operation::pwrite;
  OpenFile& opened = checked_handle(rank, index);
  const File& file = table_[opened.file];
  std::int64_t& position = position_of(rank, opened);
  std::int64_t offset = has_offset ? source_.next(rank).bytes : position;
  if (writes && opened.handle.appends && file.length != kUnknownSize) {
    offset = opened.view ? opened.view->position_before(file.length) : file.length;
  }
  const Range range = range_of(rank, opened, offset, bytes);
  if (!has_offset) position = offset + bytes;
  ++sums_of(index).calls;
  return access_part(rank, index, opened, writes, range);
}

Files::Range Files::range_of(const Rank& rank, const OpenFile& opened, std::int64_t position,
                             std::int64_t bytes) const {
  if (!opened.view) return {position, position, bytes, position + bytes};
  const std::int64_t end = opened.view->end(position, bytes);
  if (end == FileView::kBeyond) {
    fail(rank, "the view has the bytes at position " + std::to_string(position) +
                   " where no offset of 64 bits reaches");
  }
  return {position, opened.view->place(position), bytes, end};
}

bool Files::access_part(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                        const Range& range) {
  if (!writes) check_end(rank, opened.file, range.offset, range.end - range.offset);
  if (range.has_holes() && range.bytes > 0) return begin_pieces(rank, index, opened, writes, range);
  if (writes && !write(index, opened.file, range.offset, range.bytes)) return false;
  FileSums& sums = sums_of(index);
  (writes ? sums.bytes_written : sums.bytes_read) += range.bytes;
  return begin_access(rank, index, opened, writes, range.offset, range.bytes);
}

// The first step of a split collective call, where it only starts the rank's own part: in place of
// the barrier. The rank's operation becomes its own part.
bool Files::begin_split(Rank& rank, std::int32_t index) {
  source_.next(rank);
  rank.op = source_.next(rank);
  return transfer(rank, index);
}

bool Files::end_split(Rank& rank, std::int32_t index) {
  checked_handle(rank, index);
  ++sums_of(index).calls;
  if (started_.end_split(handle_key(index, rank.op.peer), index)) return true;
  rank.since = runtime_.clock.now();
  rank.phase = Phase::accessing;
  return false;
}

// The time of a read or write begins.
bool Files::begin_access(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                         std::int64_t offset, std::int64_t bytes) {
  const FileTransfers::Transfer transfer =
      transfers_.access(opened.ends, writes, offset, bytes, offset + bytes);
  const File& file = table_[opened.file];
  const Operation call = file_call_of(rank.op);
  const bool makes_request = file_traits_of(call).makes_request;
  const bool starts = makes_request || (begins_split(call) && runtime_.model.overlaps_splits);
  if (bytes == 0) {
    if (makes_request) started_.begin_nothing(rank);
    return true;
  }
  const FileRequest request{.type = writes ? FileRequest::Type::write : FileRequest::Type::read,
                            .first_server = file.first_server,
                            .offset = offset,
                            .bytes = bytes};
  if (starts) return start(rank, index, file.disk, request, transfer);
  transfers_.begin(index, transfer);
  return ask(rank, index, file.disk, request);
}

void Files::check_end(const Rank& rank, std::int32_t file, std::int64_t offset,
                      std::int64_t bytes) const {
  const std::int64_t length = table_[file].length;
  if (length == kUnknownSize || bytes <= length - offset) return;
  fail(rank, "reads " + std::to_string(bytes) + " bytes from offset " + std::to_string(offset) +
                 " of " + table_.name(file) + ", which ends at " + std::to_string(length));
}

// A collective read or write that an algorithm carries out. The rank's operation becomes the
// barrier of the line.
bool Files::enter_transfer(Rank& rank, std::int32_t index) {
  const Operation call = own_part_of(file_call_of(rank.op));
  const bool has_offset = call == Operation::pread || call == Operation::pwrite;
  const bool writes = call == Operation::write || call == Operation::pwrite;
  const std::int64_t bytes = rank.op.bytes;
  OpenFile& opened = checked_handle(rank, index);
  const std::int32_t handle = rank.op.peer;
  const Op barrier = source_.next(rank);
  source_.next(rank);  // the rank's own part, which the first operation has too
  const std::int64_t position = has_offset ? source_.next(rank).bytes : opened.position;
  if (!has_offset) opened.position = position + bytes;
  const Range range = range_of(rank, opened, position, bytes);
  ++sums_of(index).calls;
  rank.op = barrier;
  return collective_.enter(rank, index,
                           {.handle = handle,
                            .disk = table_[opened.file].disk,
                            .writes = writes,
                            .position = position,
                            .offset = range.offset,
                            .bytes = bytes,
                            .view = range.has_holes() ? opened.view.get() : nullptr});
}

// In a collective read, what an aggregator reads ends where the part of some rank does. In a write
// it may reach behind the end of the file, as the buffer does.
bool Files::move_part(Rank& rank, std::int32_t index) {
  const CollectiveTransfers::Part part = collective_.part_of(index);
  OpenFile& opened = open_[handle_key(index, part.handle)];
  if (file_call_of(rank.op) == Operation::file_read) {  // or writes its own part
    return access_part(rank, index, opened, part.writes,
                       range_of(rank, opened, part.position, part.bytes));
  }
  const Operation call = own_part_of(file_call_of(rank.op));
  const bool writes = call == Operation::pwrite;
  const std::int32_t file = opened.file;
  const std::int64_t offset = schedules_.op(rank.schedule, rank.step++).bytes;
  std::int64_t bytes = rank.op.bytes;
  if (writes) {
    if (!write(index, file, offset, bytes)) return false;
  } else if (!collective_.of_rank(index).writes) {
    check_end(rank, file, offset, bytes);
  } else if (table_[file].length != kUnknownSize) {
    bytes = std::clamp<std::int64_t>(table_[file].length - offset, 0, bytes);
  }
  FileSums& sums = sums_of(index);
  (writes ? sums.bytes_written : sums.bytes_read) += bytes;
  return begin_access(rank, index, opened, writes, offset, bytes);
}

}  // namespace tisim
