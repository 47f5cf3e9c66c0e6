// Making communicators: comm_split, comm_dup, comm_idup and comm_group. SimGrid's MPI_Comm_split
// gathers colors and keys on rank 0, which tells each other rank its new communicator; the ranks of
// each new one, as those of a duplicate, then broadcast its number. So everybody has said what rank
// 0 needs before it needs it. A comm_idup is known at once and has no messages. The ranks of a
// comm_group, who are told each other's names, only broadcast the number.
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

  // A rank enters one of them.
  bool enter(Rank& rank, std::int32_t index);
  // The schedule of the stage that the rank is in has ended.
  bool next_stage(Rank& rank, std::int32_t index);

  // For the schedules of the stages: whether a rank will be in a new communicator, and the ranks of
  // the parent in each new communicator, in their order there.
  bool joins(const Rank& rank) const {
    return rank.op.kind == Kind::comm_group || member_of(rank).color >= 0;
  }
  std::vector<std::vector<std::int32_t>> groups(const Question& asked) const;

 private:
  // A communicator of listed ranks that some of them have not joined yet.
  struct ListedGroup {
    std::int32_t comm = -1;
    std::uint16_t id = 0;
    std::int32_t first = 0;    // the rank that came first
    std::uint32_t line = 0;    // of its trace
    std::vector<bool> joined;  // by the number in the new communicator
    std::int32_t left = 0;     // ranks that are still to join
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
  // By the ranks of the simulation, in their order in the communicator.
  std::map<std::vector<std::int32_t>, std::deque<ListedGroup>> listed_;
};

}  // namespace tisim
