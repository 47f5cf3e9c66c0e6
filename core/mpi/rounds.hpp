// Non-blocking collectives of several rounds: what is carried out after their call.
#pragma once

#include <cstdint>

#include "mpi/point_to_point.hpp"
#include "mpi/protocol.hpp"
#include "mpi/request_table.hpp"
#include "mpi/runtime.hpp"
#include "mpi/schedules.hpp"

namespace tisim {

// A *round* is the messages of a schedule up to a waitall. The call itself starts those of the
// first. The library starts the next ones when the round is complete and its rank is inside a call
// that waits, tests or probes: no thread does that for it (libnbc in Open MPI, ADR 28).
//
// Between two rounds pass the overheads of what has been received and of what is sent next; they
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

  // The call of a collective is over, and has carried out its share of the rank's schedule.
  void begin(Rank& rank, std::int32_t index, std::int32_t tag);
  // A round is over, and its rank makes progress.
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
  Stack<std::int32_t> slots_;  // of the round that is posted
};

}  // namespace tisim
