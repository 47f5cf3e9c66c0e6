// Records the actions of ranks in the event log.
#pragma once

#include <cstdint>

#include "mpi/mpi.hpp"

namespace tisim {

class ActionLog {
 public:
  ActionLog(const Runtime& runtime, Mpi& mpi) : runtime_(runtime), mpi_(mpi) {}

  bool is_open() const { return runtime_.log.is_open(); }
  // Logs the begin of an operation; level 0: a line of the trace, 1: part of a collective.
  void begin(Rank& rank, std::int32_t index, const Op& op, std::uint8_t level);
  // No further operation of that level begins.
  void end(Rank& rank, std::int32_t index, std::uint8_t level) { begin(rank, index, Op{}, level); }

 private:
  bool finds_no_request(Rank& rank);
  void note_key(Rank& rank, ActionStart& action);

  Runtime runtime_;
  Mpi& mpi_;
};

}  // namespace tisim
