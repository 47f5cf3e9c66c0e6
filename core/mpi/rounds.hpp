// Non-blocking collectives with several rounds: the part executed after their call.
#pragma once

#include <cstdint>

#include "mpi/point_to_point.hpp"
#include "mpi/protocol.hpp"
#include "mpi/request_table.hpp"
#include "mpi/runtime.hpp"
#include "mpi/schedules.hpp"

namespace tisim {

// A *round* is the messages of a schedule up to a waitall. The call itself starts the first round.
// The library starts each further one when the previous round is complete and its rank is inside a
// call that waits, tests or probes: there is no progress thread (libnbc in Open MPI, ADR 28).
//
// Between two rounds, the overheads of the receives and of the next sends delay the collective but
// not the rank.
// delay the collective and not the rank.
class CollectiveRounds {
 public:
  CollectiveRounds(const Runtime& runtime, RequestTable& requests, PointToPoint& messages,
                   Schedules& schedules, const Protocol& protocol)
      : runtime_(runtime),
        requests_(requests),
        messages_(messages),
        schedules_(schedules),
        protocol_(protocol) {}

  // Called when the call of a collective has executed its part of the rank's schedule.
  void begin(Rank& rank, std::int32_t index, std::int32_t tag);
  // A round has ended, and its rank makes progress.
  void advance(std::int32_t collective);

 private:
  bool is_over(const Rounds& rounds) const {
    return rounds.step == schedules_.size(rounds.schedule);
  }
  void skip_waitall(Rounds& rounds) const;
  double seconds_between(const Rank& rank, const Rounds& rounds) const;
  void post_round(Rank& rank, std::int32_t collective);
  void take(Rank& rank, std::int32_t collective);

  Runtime runtime_;
  RequestTable& requests_;
  PointToPoint& messages_;
  Schedules& schedules_;
  const Protocol& protocol_;
  Stack<std::int32_t> slots_;  // slots of the round being posted
};

}  // namespace tisim
