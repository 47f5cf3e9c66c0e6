// Reads and writes of what a view shows with holes between, piece by piece or by data sieving.
#include "io/file/piecewise.hpp"

#include <algorithm>

#include "io/file/files.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

bool Files::begin_pieces(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                         const Range& range) {
  const FileTransfers::Transfer transfer =
      transfers_.access(opened.ends, writes, range.offset, range.bytes, range.end);
  PiecewiseAccess access;
  access.view = opened.view.get();
  access.file = opened.file;
  access.use = transfer.use;
  access.writes = writes;
  access.makes_request = file_traits_of(file_call_of(rank.op)).makes_request;
  access.position = range.position;
  access.left = range.bytes;
  access.end = range.end;
  access.buffer = writes ? runtime_.model.sieve_writes : runtime_.model.sieve_reads;
  piecewise_[index] = access;
  return next_piece(rank, index);
}

bool Files::next_piece(Rank& rank, std::int32_t index) {
  PiecewiseAccess& access = piecewise_.at(index);
  if (access.buffer > 0) {
    if (!next_sieved(rank, index, access)) return false;
  } else {
    while (access.left > 0) {
      const std::int64_t position = access.position;
      FileView::Piece piece = access.view->first_piece(position, access.left);
      // On a disk of a host, pieces one after the other take the time of all together.
      if (!is_file_system(table_[access.file].disk)) piece.bytes = access.left;
      if (access.writes && !write_pieces(index, access, piece.bytes)) return false;
      access.position += piece.bytes;
      access.left -= piece.bytes;
      if (!move_piece(rank, index, access, access.writes, piece.offset, piece.bytes)) return false;
    }
  }
  const bool makes_request = access.makes_request;
  piecewise_.erase(index);
  if (makes_request) started_.begin_nothing(rank);
  return true;
}

bool Files::write_pieces(std::int32_t index, const PiecewiseAccess& access, std::int64_t bytes) {
  const FileView& view = *access.view;
  const std::int64_t begin = access.position;
  const std::int64_t length = table_[access.file].length;
  // Bytes of the view behind the end of the file take room; holes take none.
  std::int64_t more = 0;
  if (length != kUnknownSize) {
    more = begin + bytes - std::clamp(view.position_before(length), begin, begin + bytes);
  }
  return write(index, access.file, {begin, view.place(begin), bytes, view.end(begin, bytes)}, more);
}

// As ROMIO does it (ADIOI_GEN_ReadStrided, ADIOI_GEN_WriteStrided): buffers begin at a byte that is
// wanted and reach to the last one at most. False: the rank waits.
bool Files::next_sieved(Rank& rank, std::int32_t index, PiecewiseAccess& access) {
  using Step = PiecewiseAccess::Step;
  while (true) {
    const std::int64_t end = access.begin + access.size;
    switch (access.step) {
      case Step::piece:
        if (access.left == 0) return true;
        access.next_buffer();
        access.step = access.writes ? Step::lock : Step::read;
        break;
      case Step::lock:
        access.step = Step::read;
        if (locks_.take(access.file, access.begin, access.begin + access.size, index)) break;
        rank.since = runtime_.clock.now();
        rank.phase = Phase::accessing;
        return false;
      case Step::read: {
        access.step = access.writes ? Step::write : Step::piece;
        // Bytes behind the end of the file cannot be read.
        const std::int64_t length = table_[access.file].length;
        const std::int64_t behind = length == kUnknownSize ? end : std::min(length, end);
        const std::int64_t bytes = std::max<std::int64_t>(behind - access.begin, 0);
        if (!move_piece(rank, index, access, false, access.begin, bytes)) return false;
        break;
      }
      case Step::write:
        access.step = Step::unlock;
        if (!write(index, access.file, access.begin, access.size)) return false;
        if (!move_piece(rank, index, access, true, access.begin, access.size)) return false;
        break;
      case Step::unlock:
        access.step = Step::piece;
        release_lock(access, index);
        break;
    }
  }
}

// False: the rank waits.
bool Files::move_piece(Rank& rank, std::int32_t index, const PiecewiseAccess& access, bool writes,
                       std::int64_t offset, std::int64_t bytes) {
  if (bytes == 0) return true;
  FileSums& sums = sums_of(index);
  (writes ? sums.bytes_written : sums.bytes_read) += bytes;
  const File& file = table_[access.file];
  transfers_.begin(index, {access.use, writes, bytes});
  return ask(rank, index, file.disk,
             {.type = writes ? FileRequest::Type::write : FileRequest::Type::read,
              .first_server = file.first_server,
              .offset = offset,
              .bytes = bytes});
}

void Files::release_lock(const PiecewiseAccess& access, std::int32_t index) {
  locks_.release(access.file, index, [this](std::int32_t rank) { runtime_.clock.wake(rank); });
}

}  // namespace tisim
