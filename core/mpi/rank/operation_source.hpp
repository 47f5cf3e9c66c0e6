// Where the operations of ranks come from: their traces, read in batches.
#pragma once

#include <cstdint>

#include "mpi/rank/jobs.hpp"
#include "mpi/rank/rank.hpp"

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

  // As of the last time that each rank read on: exact enough to be shown, and no sum over ranks.
  const TraceProgress& progress() const { return progress_; }

 private:
  void refill(Rank& rank);

  Jobs& jobs_;
  TraceProgress progress_;
};

}  // namespace tisim
