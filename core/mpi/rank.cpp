#include "mpi/rank.hpp"

#include <algorithm>

namespace tisim {

bool makes_progress(Phase phase) {
  switch (phase) {
    case Phase::waiting:
    case Phase::waiting_all:
    case Phase::completing_all:
    case Phase::waiting_any:
    case Phase::completing_any:
    case Phase::testing:
    case Phase::tested:
    case Phase::probing:
    case Phase::probed:
    case Phase::waiting_for_any_send:
    case Phase::synchronising:
    case Phase::leaving:
    case Phase::in_window:
    case Phase::finished:  // in MPI_Finalize
      return true;
    default:
      return false;
  }
}

double Rank::bytes_done() const {
  const double part = buffer.empty() ? 0.0 : cursor / static_cast<double>(buffer.size());
  const auto before = static_cast<double>(counted.bytes);
  return before + (static_cast<double>(bytes_read) - before) * part;
}

void Rank::insert(std::span<const Op> ops) {
  const auto count = static_cast<std::uint32_t>(ops.size());
  if (cursor < count) {
    const std::uint32_t missing = count - cursor;
    buffer.resize(buffer.size() + missing, Op{});
    std::move_backward(buffer.begin(), buffer.end() - missing, buffer.end());
    cursor += missing;
  }
  cursor -= count;
  std::copy(ops.begin(), ops.end(), buffer.begin() + cursor);
}

void Rank::close_reader() {
  if (!reader) return;
  trace_closed = true;
  lost_type = reader->uses_lost_type();
  reader.reset();
}

void Rank::close_trace() {
  counted.bytes = bytes_read = static_cast<std::uint64_t>(bytes_done());
  close_reader();
  buffer = {};
  cursor = 0;
}

}  // namespace tisim
