// Communicator creation: comm_split, comm_dup, comm_idup and comm_group. SimGrid's MPI_Comm_split
// gathers colors and keys on rank 0, which sends each other rank its new communicator; the ranks of
// each new one, as those of a duplicate, then broadcast its number. So all colors and keys are
// known before rank 0 needs them. A comm_idup completes at once without messages. The ranks of a
// comm_group already know the members and only broadcast the number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "mpi/collectives.hpp"
#include "mpi/communicators.hpp"
#include "mpi/runtime.hpp"

namespace tisim {

class CommunicatorCreation {
 public:
  CommunicatorCreation(const Runtime& runtime, CommunicatorTable& communicators,
                       Collectives& collectives)
      : runtime_(runtime), communicators_(communicators), collectives_(collectives) {}

  // Enters a rank into a creation.
  bool enter(Rank& rank, std::int32_t index);
  // Called when the schedule of the rank's current stage has ended.
  bool next_stage(Rank& rank, std::int32_t index);

  // Inputs for the schedules of the stages: whether a rank will be in a new communicator, and the
  // parent ranks of each new communicator, in its order.
  bool joins(const Rank& rank) const {
    return rank.op.kind == Kind::comm_group || member_of(rank).color >= 0;
  }
  std::vector<std::vector<std::int32_t>> groups(const Question& asked) const;

 private:
  // A communicator of listed ranks that not all of them have joined yet.
  struct ListedGroup {
    std::int32_t comm = -1;
    std::uint16_t id = 0;
    std::int32_t first = 0;    // the first rank to enter
    std::uint32_t line = 0;    // its line in the trace
    std::vector<bool> joined;  // by the number in the new communicator
    std::int32_t left = 0;     // ranks that have not joined yet
  };

  bool enter_group(Rank& rank, std::int32_t index);
  ListedGroup& listed_group(const Rank& rank, const std::vector<std::int32_t>& members,
                            std::size_t place);
  const Formation::Member& member_of(const Rank& rank) const;
  void check_same_id(const Rank& rank, std::uint16_t id, std::uint16_t id_of_first,
                     std::int32_t first, std::uint32_t line) const;
  void check_free_id(const Rank& rank, std::uint16_t id) const;
  bool join_communicator(Rank& rank, std::int32_t index);
  void make_communicators(const Communicator& parent, Formation& formation);

  Runtime runtime_;
  CommunicatorTable& communicators_;
  Collectives& collectives_;
  // Keyed by global ranks, in the order of the communicator.
  std::map<std::vector<std::int32_t>, std::deque<ListedGroup>> listed_;
};

}  // namespace tisim
