// Making communicators: comm_split and comm_dup. SimGrid's MPI_Comm_split gathers colors and keys
// on rank 0, which tells each other rank its new communicator; the ranks of each new one, as those
// of a duplicate, then broadcast its number. So everybody has said what rank 0 needs before it
// needs it.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/collective/collectives.hpp"
#include "mpi/communicator/communicator_table.hpp"
#include "mpi/rank/runtime.hpp"

namespace tisim {

class CommunicatorCreation {
 public:
  CommunicatorCreation(const Runtime& runtime, CommunicatorTable& communicators,
                       Collectives& collectives)
      : runtime_(runtime), communicators_(communicators), collectives_(collectives) {}

  // A rank enters a comm_split or comm_dup.
  bool enter(Rank& rank, std::int32_t index);
  // The schedule of the stage that the rank is in has ended.
  bool next_stage(Rank& rank, std::int32_t index);

  // For whoever makes the schedules of the stages: whether a rank will be in a new communicator;
  // the ranks of the parent in each new one, in the order there, for the rank that is asked about.
  bool joins(const Rank& rank) const { return member_of(rank).color >= 0; }
  std::vector<std::vector<std::int32_t>> groups(const Question& asked) const;

 private:
  const Formation::Member& member_of(const Rank& rank) const;
  void check_formation(const Rank& rank, const Formation& formation, std::uint16_t id,
                       bool joins) const;
  bool join_communicator(Rank& rank, std::int32_t index);
  void make_communicators(const Communicator& parent, Formation& formation);

  Runtime runtime_;
  CommunicatorTable& communicators_;
  Collectives& collectives_;
};

}  // namespace tisim
