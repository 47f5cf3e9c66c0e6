// Jobs: concurrent MPI programs, each with a world of ranks and its traces.
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
  std::shared_ptr<const TraceSet> traces;  // null: driven by a caller
  CallTable calls;
  std::int32_t first = 0, size = 0;  // range of its ranks
  std::int32_t world = 0;            // index of its communicator
  std::int32_t running = 0;          // ranks that have not finished
  std::uint64_t bytes = 0;           // size of its traces, computed on demand
};

class Jobs {
 public:
  Jobs() = default;
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // References to jobs remain valid: readers refer to the call tables.
  Job& add() { return jobs_.emplace_back(); }
  std::int32_t count() const { return static_cast<std::int32_t>(jobs_.size()); }
  Job& operator[](std::int32_t index) { return jobs_[static_cast<std::size_t>(index)]; }
  const Job& operator[](std::int32_t index) const { return jobs_[static_cast<std::size_t>(index)]; }
  Job& of(const Rank& rank) { return jobs_[static_cast<std::size_t>(rank.job)]; }
  const Job& of(const Rank& rank) const { return jobs_[static_cast<std::size_t>(rank.job)]; }

  // The call of a rank's current operation, and of the collective that its schedule executes.
  const Call& call_of(const Rank& rank) const {
    return of(rank).calls[static_cast<std::uint32_t>(rank.op.call)];
  }
  const Call& collective_of(const Rank& rank) const { return of(rank).calls[rank.collective.call]; }

  // Returns true while a job that follows traces has ranks running.
  bool follow_traces() const;
  // Total size of all traces in bytes, computed once.
  std::uint64_t trace_bytes();
  // The file that the rank's operations are read from; empty if none.
  std::string file_of(const Rank& rank) const;
  // Throws TraceError for the current line of a rank.
  [[noreturn]] void fail(const Rank& rank, const std::string& message) const;

 private:
  std::deque<Job> jobs_;
};

}  // namespace tisim
