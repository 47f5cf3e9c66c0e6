#include "mpi/operation_source.hpp"

#include <algorithm>

namespace tisim {

namespace {
constexpr std::int32_t kMinRoom = 8;  // minimum buffer size, operations

// Fills the buffer from the trace and closes the reader at its end. Returns the number of
// operations read.
std::size_t read_on(Rank& rank) {
  const std::size_t filled = rank.reader->read(rank.buffer.begin(), rank.buffer.size());
  rank.bytes_read = rank.reader->bytes_read();
  if (filled < rank.buffer.size()) rank.close_reader();
  return filled;
}

// Like `read_on`, up to the next turn of a loop.
std::size_t read_to_turn(Rank& rank, LoopObserver& loops) {
  const std::size_t filled = loops.read(rank, {rank.buffer.begin(), rank.buffer.size()});
  rank.bytes_read = rank.reader->bytes_read();
  if (filled == 0) rank.close_reader();
  return filled;
}
}  // namespace

void OperationSource::refill(Rank& rank) {
  Job& job = jobs_.of(rank);
  if (!rank.reader && !rank.trace_closed) {
    rank.reader = job.traces->open(rank.number, job.calls);
    if (loops_) loops_->open(*rank.reader);
  } else {
    progress_.actions += rank.actions - rank.counted.actions;
    progress_.bytes += rank.bytes_read - rank.counted.bytes;
    rank.counted = {rank.actions, rank.bytes_read};
  }
  // A few ranks read far ahead, many ranks only a little: this bounds the total size of the
  // buffers. Insertions may have enlarged this one.
  auto room = static_cast<std::size_t>(std::clamp(65536 / job.size, kMinRoom, 512));
  // Reading stops at the turns of short loops, so grow the buffer only as needed.
  if (loops_) room = std::min(room, 2 * std::max<std::size_t>(rank.buffer.size(), kMinRoom));
  rank.buffer.resize(room, Op{});
  rank.cursor = 0;
  std::size_t filled = 0;
  if (rank.reader) filled = loops_ ? read_to_turn(rank, *loops_) : read_on(rank);
  if (filled == 0) rank.buffer[filled++] = Op{};
  rank.buffer.resize(filled, Op{});
}

}  // namespace tisim
