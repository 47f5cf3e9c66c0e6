// Where the operations of ranks come from: their traces, read in batches.
#pragma once

#include <cstdint>

#include "mpi/jobs.hpp"
#include "mpi/loop_observer.hpp"
#include "mpi/rank.hpp"

namespace tisim {

class OperationSource {
 public:
  explicit OperationSource(Jobs& jobs) : jobs_(jobs) {}

  // The next operation of the rank's trace, or one that was inserted before it; `Kind::end` after
  // the last.
  const Op& next(Rank& rank) {
    if (rank.cursor == rank.buffer.size()) refill(rank);
    return rank.buffer[rank.cursor++];
  }

  // Is told from now on of what ranks read. To be called before they do.
  void observe_loops(LoopObserver& observer) { loops_ = &observer; }

  // As of the last time that each rank read on: exact enough to be shown, and no sum over ranks.
  const TraceProgress& progress() const { return progress_; }

 private:
  void refill(Rank& rank);

  Jobs& jobs_;
  LoopObserver* loops_ = nullptr;  // null: nobody asks
  TraceProgress progress_;
};

}  // namespace tisim
