#include "io/file/files.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "trace/vocabulary/files.hpp"

namespace tisim {

namespace {

std::vector<double> capacities_of(const PlatformData& platform) {
  std::vector<double> capacities = platform.disk_size;
  for (const FileSystemData& data : platform.file_systems) capacities.push_back(data.size);
  return capacities;
}

// Page size to which reads and writes on a host's disk are aligned.
constexpr std::int64_t kPage = 4096;

// Returns true if an algorithm may execute the call.
bool may_be_two_phase(Operation call) {
  if (file_traits_of(call).is_shared) return false;
  const Operation does = posix_equivalent(call);
  return does == Operation::read || does == Operation::write || does == Operation::pread ||
         does == Operation::pwrite;
}

bool has_flag(const Call& call, char flag) { return call.words[1].find(flag) != std::string::npos; }

}  // namespace

Files::Files(const Runtime& runtime, Mpi& mpi, const PlatformData& platform,
             FileSystems& file_systems, Activities& activities)
    : runtime_(runtime),
      source_(mpi.source),
      file_systems_(file_systems),
      nonblocking_(runtime, activities, mpi.matcher, mpi.requests, mpi.messages),
      schedules_(mpi.schedules),
      collective_(runtime, mpi),
      disks_(static_cast<std::int32_t>(platform.disk_host.size())),
      capacities_(capacities_of(platform)),
      table_(capacities_),
      transfers_(file_systems.moved()) {}

bool Files::begin(Rank& rank, std::int32_t index) {
  if (rank.schedule >= 0) return move_part(rank, index);
  const Operation call = file_call_of(rank.op);
  if (ends_split(call)) return end_split(rank, index);
  // A synchronising call: a barrier follows, then the rank's own part.
  if (file_traits_of(call).synchronises && (rank.op.flags & kContinuation) == 0) {
    if (begins_split(call) && runtime_.model.overlaps_splits) return begin_split(rank, index);
    return !runtime_.model.two_phase || !may_be_two_phase(call) || enter_transfer(rank, index);
  }
  switch (posix_equivalent(call)) {
    case Operation::open:
      return open(rank, index);
    case Operation::read:
    case Operation::write:
    case Operation::pread:
    case Operation::pwrite:
      return transfer(rank, index);
    case Operation::close:
      return close(rank, index);
    case Operation::lseek:
      seek(rank, index);
      return true;
    case Operation::file_set_size:
    case Operation::file_preallocate:
      return resize(rank, index);
    case Operation::fsync:
    case Operation::file_set_view:
      return synchronise(rank, index);
    default:
      return name(rank, index);
  }
}

bool Files::open(Rank& rank, std::int32_t index) {
  OpenFile& opened = open_[handle_key(index, rank.op.peer)];
  const std::string error = opened.handle.error_of(Operation::open, rank.op.peer);
  if (!error.empty()) fail(rank, error);
  if (!has_answer(rank, index)) return false;
  const Call& call = runtime_.jobs.call_of(rank);
  const std::string name = asked_name(rank);
  const std::int32_t disk = std::exchange(answer_, kNoDisk);
  const auto size = static_cast<std::int64_t>(call.arguments.front());
  std::int32_t file = table_.find(disk, name);
  if (file == FileTable::kNone) {
    const bool is_new = has_flag(call, 'c') && size == kUnknownSize;
    file = add_file(disk, name, is_new ? 0 : size);
  } else if (has_flag(call, 'c') && has_flag(call, 'x')) {
    fail(rank, "creates " + table_.name(file) + ", which exists; omit the flag x to open it");
  }
  if (has_flag(call, 't')) table_.truncate(file);
  ++table_[file].handles;
  opened.file = file;
  opened.position = 0;
  opened.view.reset();
  opened.handle.open(call.words[1], rank.op.line);
  opened.ends = record_open(call, disk);
  ++statistics_of(index).calls;
  return ask_metadata(rank, index, disk);
}

// stat, unlink, mkdir
bool Files::name(Rank& rank, std::int32_t index) {
  if (!has_answer(rank, index)) return false;
  const std::int32_t disk = std::exchange(answer_, kNoDisk);
  if (file_call_of(rank.op) == Operation::unlink) {
    const std::int32_t file = table_.find(disk, asked_name(rank));
    if (file != FileTable::kNone) table_.unlink(file);
  }
  ++statistics_of(index).calls;
  return ask_metadata(rank, index, disk);
}

bool Files::close(Rank& rank, std::int32_t index) {
  OpenFile& closed = checked_handle(rank, index);
  closed.handle.close(rank.op.line);
  shared_positions_.erase(closed.file);
  const std::int32_t disk = table_[closed.file].disk;
  table_.release(std::exchange(closed.file, FileTable::kNone));
  ++statistics_of(index).calls;
  return ask(rank, index, disk, {.type = FileRequest::Type::close});
}

bool Files::synchronise(Rank& rank, std::int32_t index) {
  OpenFile& opened = checked_handle(rank, index);
  if (file_call_of(rank.op) == Operation::file_set_view) set_view(rank, opened);
  const File& file = table_[opened.file];
  ++statistics_of(index).calls;
  return ask(rank, index, file.disk,
             {.type = FileRequest::Type::sync, .first_server = file.first_server});
}

void Files::seek(Rank& rank, std::int32_t index) {
  const auto from = static_cast<SeekFrom>(runtime_.jobs.call_of(rank).arguments.front());
  OpenFile& opened = checked_handle(rank, index);
  std::int64_t& position = position_of(rank, opened);
  const std::int64_t distance = source_.next(rank).bytes;
  std::int64_t base = 0;
  if (from == SeekFrom::position) base = position;
  if (from == SeekFrom::end) base = table_[opened.file].length;
  const bool is_known = base != kUnknownSize;
  if (from == SeekFrom::end && is_known && opened.view) base = opened.view->position_before(base);
  if (from == SeekFrom::end && !is_known) {
    fail(rank, "lseek from the end of " + table_.name(opened.file) +
                   ", whose length is unknown; give it in the open with size=BYTES");
  }
  if (__builtin_add_overflow(base, distance, &position) || position < 0) {
    fail(rank, "lseek by " + std::to_string(distance) + " from " + std::to_string(base) +
                   " does not end within a file");
  }
  ++statistics_of(index).calls;
}

// Sets the rank's view of the file. Positions restart at 0 unless both old and new ones are plain
// byte offsets.
void Files::set_view(const Rank& rank, OpenFile& opened) {
  const std::vector<double>& numbers = runtime_.jobs.call_of(rank).arguments;
  if (opened.view || !numbers.empty()) {
    opened.position = 0;
    shared_positions_.erase(opened.file);
  }
  opened.view = numbers.empty() ? nullptr : std::make_unique<const FileView>(numbers);
}

// A length that all ranks with the open file set collectively.
bool Files::resize(Rank& rank, std::int32_t index) {
  const OpenFile& opened = checked_handle(rank, index);
  const std::int64_t length = table_[opened.file].length;
  const std::int64_t bytes = rank.op.bytes;
  ++statistics_of(index).calls;
  if (file_call_of(rank.op) == Operation::file_set_size) {
    if (length != bytes) table_.set_length(opened.file, bytes);
  } else if (length != kUnknownSize && length < bytes) {
    return write(index, opened.file, length, bytes - length);
  }
  return true;
}

bool Files::write(std::int32_t index, std::int32_t file, std::int64_t offset, std::int64_t bytes) {
  return write(index, file, {0, offset, bytes, FileTable::end_of(offset, bytes)},
               table_.growth(file, offset, bytes));
}

bool Files::write(std::int32_t index, std::int32_t file, const Range& range, std::int64_t more) {
  if (table_.extend(file, range.end, more)) return true;
  const std::int32_t disk = table_[file].disk;
  full_disk_ = {
      index,       disk, table_.name(file), table_.capacity(disk), table_.used(disk), range.offset,
      range.bytes, more};
  runtime_.interruption.interrupt(Stop::disk_full);
  return false;
}

bool Files::start(Rank& rank, std::int32_t index, std::int32_t disk, FileRequest request,
                  const FileTransfers::Transfer& transfer) {
  const bool is_split = begins_split(file_call_of(rank.op));
  const std::int32_t activity = is_split ? nonblocking_.begin_split(handle_key(index, rank.op.peer))
                                         : nonblocking_.begin(rank, index);
  const std::int32_t owner = ~activity;
  transfers_.start(activity, transfer, runtime_.clock.now());
  if (is_file_system(disk)) {
    pending_request_ = request;
    pending_request_.file_system = disk - disks_;
    pending_owner_ = owner;
    return ask_servers(rank, index);
  }
  runtime_.disks.start(disk, transfer.writes ? Access::write : Access::read,
                       static_cast<double>(request.bytes), owner, runtime_.clock.now());
  return true;
}

bool Files::end_nonblocking(std::int32_t activity, bool failed) {
  if (!nonblocking_.end(activity, failed)) return false;
  transfers_.end_nonblocking(activity, failed, runtime_.clock.now());
  return true;
}

bool Files::ask(Rank& rank, std::int32_t index, std::int32_t disk, FileRequest request) {
  rank.since = runtime_.clock.now();
  if (is_file_system(disk)) {
    pending_request_ = request;
    pending_request_.file_system = disk - disks_;
    pending_owner_ = index;
    return ask_servers(rank, index);
  }
  if (request.bytes == 0) return true;
  const bool writes = request.type == FileRequest::Type::write;
  rank.phase = Phase::accessing;
  accessed_[index] = disk;
  runtime_.disks.start(disk, writes ? Access::write : Access::read,
                       static_cast<double>(request.bytes), index, rank.since);
  return false;
}

bool Files::ask_servers(Rank& rank, std::int32_t index) {
  if (!file_systems_.begin(pending_request_, rank.host, pending_owner_)) {
    rank.phase = Phase::needs_server;
    runtime_.interruption.ask_route(index);
    return false;
  }
  if (pending_owner_ < 0) return true;
  rank.phase = Phase::accessing;
  return false;
}

bool Files::access(std::int32_t file_system, std::string_view name, FileRequest request,
                   std::int32_t client, std::int32_t owner) {
  const std::int32_t disk = disks_ + file_system;
  std::int32_t file = table_.find(disk, name);
  if (file == FileTable::kNone) file = add_file(disk, name, kUnknownSize);
  request.file_system = file_system;
  request.first_server = table_[file].first_server;
  return file_systems_.begin(request, client, owner);
}

std::int32_t Files::add_file(std::int32_t disk, std::string_view name, std::int64_t length) {
  const std::int32_t file = table_.add(disk, name, length);
  if (is_file_system(disk)) table_[file].first_server = file_systems_.place_file(disk - disks_);
  return file;
}

bool Files::finish(Rank& rank, std::int32_t index) {
  const double seconds = runtime_.clock.now() - rank.since;
  rank.other += seconds;
  statistics_of(index).seconds += seconds;
  accessed_.erase(index);
  transfers_.end(index, rank.since, runtime_.clock.now());
  return !piecewise_.contains(index) || next_piece(rank, index);
}

// Returns the access statistics of the file's name, for a rank that opens it.
AccessPatterns::Ends Files::record_open(const Call& call, std::int32_t disk) {
  const std::int32_t file_system = is_file_system(disk) ? disk - disks_ : -1;
  const std::int64_t alignment = is_file_system(disk) ? file_systems_.stripe(file_system) : kPage;
  return transfers_.open(call.words.front(), file_system, alignment);
}

void Files::abandon(std::int32_t index) {
  file_systems_.abandon(index);
  if (const auto entry = piecewise_.find(index); entry != piecewise_.end()) {
    release_lock(entry->second, index);
    piecewise_.erase(entry);
  }
  const auto accessed = accessed_.find(index);
  if (accessed == accessed_.end()) return;
  runtime_.disks.drop(accessed->second, index, runtime_.clock.now());
  accessed_.erase(accessed);
}

std::string Files::asked_name(const Rank& rank) const {
  return file_name(runtime_.jobs.call_of(rank).words.front(), rank.number);
}

bool Files::has_answer(Rank& rank, std::int32_t index) {
  if (answer_ != kNoDisk) return true;
  rank.phase = Phase::needs_disk;
  runtime_.interruption.ask_disk(index);
  return false;
}

Files::OpenFile& Files::checked_handle(const Rank& rank, std::int32_t index) {
  OpenFile& opened = open_[handle_key(index, rank.op.peer)];
  const std::string error = opened.handle.error_of(file_call_of(rank.op), rank.op.peer);
  if (!error.empty()) fail(rank, error);
  const Operation call = file_call_of(rank.op);
  if (begins_split(call) || ends_split(call)) opened.handle.step(call, rank.op.line);
  return opened;
}

std::int64_t& Files::position_of(const Rank& rank, OpenFile& opened) {
  const bool is_shared = file_traits_of(file_call_of(rank.op)).is_shared;
  return is_shared ? shared_positions_[opened.file] : opened.position;
}

FileStatistics& Files::statistics_of(std::int32_t index) {
  if (statistics_.size() <= static_cast<std::size_t>(index))
    statistics_.resize(runtime_.ranks.size());
  return statistics_[static_cast<std::size_t>(index)];
}

void Files::fail(const Rank& rank, const std::string& message) const {
  char date[32];
  std::snprintf(date, sizeof date, "%.9g", runtime_.clock.now());
  runtime_.jobs.fail(rank,
                     message + " (rank " + std::to_string(rank.number) + ", at " + date + " s)");
}

// Reads and writes of ranks, both individual and in schedules of collective calls.

bool Files::transfer(Rank& rank, std::int32_t index) {
  const Operation call = posix_equivalent(file_call_of(rank.op));
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
  ++statistics_of(index).calls;
  return access_part(rank, index, opened, writes, range);
}

Files::Range Files::range_of(const Rank& rank, const OpenFile& opened, std::int64_t position,
                             std::int64_t bytes) const {
  if (!opened.view) return {position, position, bytes, position + bytes};
  const std::int64_t end = opened.view->end(position, bytes);
  if (end == FileView::kBeyond) {
    fail(rank, "the view has the bytes at position " + std::to_string(position) +
                   " beyond the range of 64-bit offsets");
  }
  return {position, opened.view->file_offset(position), bytes, end};
}

bool Files::access_part(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                        const Range& range) {
  if (!writes) check_end(rank, opened.file, range.offset, range.end - range.offset);
  if (range.has_holes() && range.bytes > 0) return begin_pieces(rank, index, opened, writes, range);
  if (writes && !write(index, opened.file, range.offset, range.bytes)) return false;
  FileStatistics& statistics = statistics_of(index);
  (writes ? statistics.bytes_written : statistics.bytes_read) += range.bytes;
  return begin_access(rank, index, opened, writes, range.offset, range.bytes);
}

// The first step of a split collective call where it only starts the rank's own part. Skips the
// barrier: the rank's operation becomes its own part.
bool Files::begin_split(Rank& rank, std::int32_t index) {
  source_.next(rank);
  rank.op = source_.next(rank);
  return transfer(rank, index);
}

bool Files::end_split(Rank& rank, std::int32_t index) {
  checked_handle(rank, index);
  ++statistics_of(index).calls;
  if (nonblocking_.end_split(handle_key(index, rank.op.peer), index)) return true;
  rank.since = runtime_.clock.now();
  rank.phase = Phase::accessing;
  return false;
}

// Starts a read or write that may take time.
bool Files::begin_access(Rank& rank, std::int32_t index, OpenFile& opened, bool writes,
                         std::int64_t offset, std::int64_t bytes) {
  const FileTransfers::Transfer transfer =
      transfers_.access(opened.ends, writes, offset, bytes, offset + bytes);
  const File& file = table_[opened.file];
  const Operation call = file_call_of(rank.op);
  const bool makes_request = file_traits_of(call).makes_request;
  const bool starts = makes_request || (begins_split(call) && runtime_.model.overlaps_splits);
  if (bytes == 0) {
    if (makes_request) nonblocking_.begin_empty(rank);
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

// Enters a collective read or write executed by an algorithm. The rank's operation becomes the
// barrier of the line.
bool Files::enter_transfer(Rank& rank, std::int32_t index) {
  const Operation call = posix_equivalent(file_call_of(rank.op));
  const bool has_offset = call == Operation::pread || call == Operation::pwrite;
  const bool writes = call == Operation::write || call == Operation::pwrite;
  const std::int64_t bytes = rank.op.bytes;
  OpenFile& opened = checked_handle(rank, index);
  const std::int32_t handle = rank.op.peer;
  const Op barrier = source_.next(rank);
  source_.next(rank);  // the rank's own part, already given by the first operation
  const std::int64_t position = has_offset ? source_.next(rank).bytes : opened.position;
  if (!has_offset) opened.position = position + bytes;
  const Range range = range_of(rank, opened, position, bytes);
  ++statistics_of(index).calls;
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

// In a collective read, an aggregator reads up to the end of some rank's part. In a collective
// write its reads may extend past the end of the file, like the buffer, and are cut there.
bool Files::move_part(Rank& rank, std::int32_t index) {
  const CollectiveTransfers::Part part = collective_.part_of(index);
  OpenFile& opened = open_[handle_key(index, part.handle)];
  if (file_call_of(rank.op) == Operation::file_read) {  // or writes its own part
    return access_part(rank, index, opened, part.writes,
                       range_of(rank, opened, part.position, part.bytes));
  }
  const Operation call = posix_equivalent(file_call_of(rank.op));
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
  FileStatistics& statistics = statistics_of(index);
  (writes ? statistics.bytes_written : statistics.bytes_read) += bytes;
  return begin_access(rank, index, opened, writes, offset, bytes);
}

// Pieces of a view, accessed one by one or by data sieving.

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
      // On a host's disk, consecutive pieces take as long as one access.
      if (!is_file_system(table_[access.file].disk)) piece.bytes = access.left;
      if (access.writes && !write_pieces(index, access, piece.bytes)) return false;
      access.position += piece.bytes;
      access.left -= piece.bytes;
      if (!move_piece(rank, index, access, access.writes, piece.offset, piece.bytes)) return false;
    }
  }
  const bool makes_request = access.makes_request;
  piecewise_.erase(index);
  if (makes_request) nonblocking_.begin_empty(rank);
  return true;
}

bool Files::write_pieces(std::int32_t index, const PiecewiseAccess& access, std::int64_t bytes) {
  const FileView& view = *access.view;
  const std::int64_t begin = access.position;
  const std::int64_t length = table_[access.file].length;
  // Bytes of the view past the end of the file take space; holes take none.
  std::int64_t more = 0;
  if (length != kUnknownSize) {
    more = begin + bytes - std::clamp(view.position_before(length), begin, begin + bytes);
  }
  return write(index, access.file, {begin, view.file_offset(begin), bytes, view.end(begin, bytes)},
               more);
}

// Follows ROMIO (ADIOI_GEN_ReadStrided, ADIOI_GEN_WriteStrided): a buffer begins at a requested
// byte and ends at the last one at the latest. Returns false if the rank waits.
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
        // Bytes past the end of the file cannot be read.
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

// Returns false if the rank waits.
bool Files::move_piece(Rank& rank, std::int32_t index, const PiecewiseAccess& access, bool writes,
                       std::int64_t offset, std::int64_t bytes) {
  if (bytes == 0) return true;
  FileStatistics& statistics = statistics_of(index);
  (writes ? statistics.bytes_written : statistics.bytes_read) += bytes;
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
