#include "mpi/jobs.hpp"

#include <algorithm>

#include "trace/error.hpp"

namespace tisim {

bool Jobs::follow_traces() const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [](const Job& job) { return job.traces != nullptr && job.running > 0; });
}

std::uint64_t Jobs::trace_bytes() {
  std::uint64_t sum = 0;
  for (Job& job : jobs_) {
    if (job.traces && job.bytes == 0) job.bytes = job.traces->bytes();
    sum += job.bytes;
  }
  return sum;
}

std::string Jobs::file_of(const Rank& rank) const {
  if (!rank.reader && !rank.trace_closed) return {};
  return of(rank).traces->file(rank.number);
}

void Jobs::fail(const Rank& rank, const std::string& message) const {
  const std::uint32_t line = rank.schedule >= 0 ? rank.collective.line : rank.op.line;
  throw TraceError(file_of(rank), line, message);
}

}  // namespace tisim
