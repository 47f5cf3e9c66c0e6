#include "mpi/rank.hpp"

#include <algorithm>

namespace tisim {

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
