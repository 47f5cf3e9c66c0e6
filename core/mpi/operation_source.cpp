#include "mpi/operation_source.hpp"

#include <algorithm>

namespace tisim {

namespace {
constexpr std::int32_t kLeastRoom = 8;  // for operations

// Fills the buffer as far as the trace goes; at its end the reader is closed. The number of
// operations read.
std::size_t read_on(Rank& rank) {
  const std::size_t filled = rank.reader->read(rank.buffer.begin(), rank.buffer.size());
  rank.bytes_read = rank.reader->bytes_read();
  if (filled < rank.buffer.size()) rank.close_reader();
  return filled;
}

// The same up to the next turn of a loop.
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
  // Few ranks read far ahead, many ranks little: the buffers together stay small. What was inserted
  // may have made this one longer.
  auto room = static_cast<std::size_t>(std::clamp(65536 / job.size, kLeastRoom, 512));
  // Short loops, at whose turns reading stops, need not have room made for more each time.
  if (loops_) room = std::min(room, 2 * std::max<std::size_t>(rank.buffer.size(), kLeastRoom));
  rank.buffer.resize(room, Op{});
  rank.cursor = 0;
  std::size_t filled = 0;
  if (rank.reader) filled = loops_ ? read_to_turn(rank, *loops_) : read_on(rank);
  if (filled == 0) rank.buffer[filled++] = Op{};
  rank.buffer.resize(filled, Op{});
}

}  // namespace tisim
