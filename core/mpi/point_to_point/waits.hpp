// MPI_Wait, Waitall, Waitany and Waitsome. A request without a message (a detached send, a call to
// nobody) is complete at once.
#pragma once

#include <cstdint>

#include "mpi/point_to_point/point_to_point.hpp"
#include "mpi/schedule/schedules.hpp"

namespace tisim {

class Waits {
 public:
  Waits(const Runtime& runtime, RequestTable& requests, PointToPoint& messages,
        const Schedules& schedules)
      : runtime_(runtime), requests_(requests), messages_(messages), schedules_(schedules) {}

  // The wait of a trace or schedule; for a request that is there no longer it does nothing.
  bool wait(Rank& rank, std::int32_t index);
  // The waitall of a trace takes the requests that it lists or all that are pending, that of a
  // schedule the slots that follow it.
  bool wait_pending(Rank& rank, std::int32_t index);
  bool wait_any(Rank& rank, std::int32_t index);
  bool wait_some(Rank& rank, std::int32_t index);

  // Finishes the awaited requests one after the other, as they complete; of several complete ones
  // that which was posted first. Each receive may cost its overhead.
  bool wait_awaited(Rank& rank, std::int32_t index);
  // The request that a waitany waits for is complete: `rank.waiting`.
  bool finish_any(Rank& rank, std::int32_t index);
  // The rank tests: it makes progress.
  void make_progress(std::int32_t index) const { messages_.make_progress(index); }
  // A request whose message has arrived, or never needed to.
  bool finish(Rank& rank, std::int32_t index, std::int32_t request);

 private:
  bool wait_for(Rank& rank, std::int32_t index, std::int32_t request);
  bool insert_collective_waits(Rank& rank);
  static void note_taken(Rank& rank, std::int32_t request);

  Runtime runtime_;
  RequestTable& requests_;
  PointToPoint& messages_;
  const Schedules& schedules_;
};

}  // namespace tisim
