// Says in the event log which actions ranks begin.
#pragma once

#include <cstdint>

#include "mpi/mpi.hpp"

namespace tisim {

class ActionLog {
 public:
  ActionLog(const Runtime& runtime, Mpi& mpi) : runtime_(runtime), mpi_(mpi) {}

  bool is_open() const { return runtime_.log.is_open(); }
  // The rank begins an operation; level 0: a line of its trace, 1: a part of a collective.
  void begin(Rank& rank, std::int32_t index, const Op& op, std::uint8_t level);
  // It begins nothing more of that level.
  void end(Rank& rank, std::int32_t index, std::uint8_t level) { begin(rank, index, Op{}, level); }

 private:
  bool finds_no_request(Rank& rank);
  void note_key(Rank& rank, ActionStart& action);

  Runtime runtime_;
  Mpi& mpi_;
};

}  // namespace tisim
