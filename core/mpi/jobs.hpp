// Jobs: MPI programs that run side by side, each with a world of ranks and the traces they follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "mpi/rank.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/vocabulary/call.hpp"

namespace tisim {

struct Job {
  std::shared_ptr<const TraceSet> traces;  // null: driven from outside
  CallTable calls;
  std::int32_t first = 0, size = 0;  // its ranks
  std::int32_t world = 0;            // index of its communicator
  std::int32_t running = 0;          // ranks that have not finished
  std::uint64_t bytes = 0;           // of its traces, when somebody has asked
};

class Jobs {
 public:
  Jobs() = default;
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // References to jobs stay good: readers refer to the call tables.
  Job& add() { return jobs_.emplace_back(); }
  std::int32_t count() const { return static_cast<std::int32_t>(jobs_.size()); }
  Job& operator[](std::int32_t index) { return jobs_[static_cast<std::size_t>(index)]; }
  const Job& operator[](std::int32_t index) const { return jobs_[static_cast<std::size_t>(index)]; }
  Job& of(const Rank& rank) { return jobs_[static_cast<std::size_t>(rank.job)]; }
  const Job& of(const Rank& rank) const { return jobs_[static_cast<std::size_t>(rank.job)]; }

  // Line of the operation that a rank executes, and of the collective that its schedule carries
  // out.
  const Call& call_of(const Rank& rank) const {
    return of(rank).calls[static_cast<std::uint32_t>(rank.op.call)];
  }
  const Call& collective_of(const Rank& rank) const { return of(rank).calls[rank.collective.call]; }

  // True while a job that follows traces has not come to their end.
  bool follow_traces() const;
  // Bytes of all traces, asked for once.
  std::uint64_t trace_bytes();
  // The file that the rank's operations are read from; empty: none.
  std::string file_of(const Rank& rank) const;
  // Throws TraceError for the line that a rank executes.
  [[noreturn]] void fail(const Rank& rank, const std::string& message) const;

 private:
  std::deque<Job> jobs_;
};

}  // namespace tisim
