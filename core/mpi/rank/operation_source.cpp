#include "mpi/rank/operation_source.hpp"

#include <algorithm>

namespace tisim {

namespace {
// Fills the buffer as far as the trace goes; at its end the reader is closed. The number of
// operations read.
std::size_t read_on(Rank& rank) {
  const std::size_t filled = rank.reader->read(rank.buffer.begin(), rank.buffer.size());
  rank.bytes_read = rank.reader->bytes_read();
  if (filled < rank.buffer.size()) rank.close_reader();
  return filled;
}
}  // namespace

void OperationSource::refill(Rank& rank) {
  Job& job = jobs_.of(rank);
  if (!rank.reader && !rank.trace_closed) {
    rank.reader = job.traces->open(rank.number, job.calls);
  } else {
    progress_.actions += rank.actions - rank.counted.actions;
    progress_.bytes += rank.bytes_read - rank.counted.bytes;
    rank.counted = {rank.actions, rank.bytes_read};
  }
  // Few ranks read far ahead, many ranks little: the buffers together stay small. What was inserted
  // may have made this one longer.
  rank.buffer.resize(static_cast<std::size_t>(std::clamp(65536 / job.size, 8, 512)), Op{});
  rank.cursor = 0;
  std::size_t filled = 0;
  if (rank.reader) filled = read_on(rank);
  if (filled == 0) rank.buffer[filled++] = Op{};
  rank.buffer.resize(filled, Op{});
}

}  // namespace tisim
