// Source of the ranks' operations: their traces, read in batches.
#pragma once

#include <cstdint>

#include "mpi/jobs.hpp"
#include "mpi/loop_observer.hpp"
#include "mpi/rank.hpp"

namespace tisim {

class OperationSource {
 public:
  explicit OperationSource(Jobs& jobs) : jobs_(jobs) {}

  // Returns the next operation of the rank's trace, or one inserted before it; `Kind::end` after
  // the last.
  const Op& next(Rank& rank) {
    if (rank.cursor == rank.buffer.size()) refill(rank);
    return rank.buffer[rank.cursor++];
  }

  // Passes all operations that ranks read to `observer`. Must be called before they read.
  void observe_loops(LoopObserver& observer) { loops_ = &observer; }

  // As of each rank's last read: accurate enough for display, without summing over ranks.
  const TraceProgress& progress() const { return progress_; }

 private:
  void refill(Rank& rank);

  Jobs& jobs_;
  LoopObserver* loops_ = nullptr;  // null: not observed
  TraceProgress progress_;
};

}  // namespace tisim
