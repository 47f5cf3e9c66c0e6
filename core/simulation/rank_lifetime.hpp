// How ranks start and end.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/mpi.hpp"
#include "simulation/action_log.hpp"
#include "simulation/platform_changes.hpp"

namespace tisim {

// A simulation's message to whoever runs it: something that was waited for is over.
enum class CompletionType : std::uint8_t {
  activity,         // a computation or transfer that was posted from outside
  failed_activity,  // one that has failed
  rank,             // the operation that was posted to a rank
  job               // all ranks of a job have finished
};

struct Completion {
  CompletionType type;
  std::int32_t index;
};

class RankLifetime {
 public:
  RankLifetime(const Runtime& runtime, Mpi& mpi, Transfers& transfers, Failures& failures,
               ActionLog& actions, std::vector<Completion>& completions)
      : runtime_(runtime),
        mpi_(mpi),
        transfers_(transfers),
        failures_(failures),
        actions_(actions),
        completions_(completions) {}

  // A rank that follows a trace starts after so many seconds.
  void schedule_start(std::int32_t index, double delay);
  // Now; on a host that is off it dies at once. True: it goes on with its trace.
  bool start(Rank& rank, std::int32_t index);
  // The time of MPI_Init is over.
  void finish_init(Rank& rank) const { rank.other += runtime_.clock.now() - rank.since; }
  // The rank's trace is over. What is pending is waited for; then comes the barrier of
  // MPI_Finalize, where there is one (smpi/barrier-finalization).
  bool finish(Rank& rank, std::int32_t index);
  // A rank that was killed is dead.
  void finish_killed(Rank& rank, std::int32_t index);

 private:
  bool enter_init(Rank& rank, std::int32_t index);
  void insert_final_barrier(Rank& rank);
  void leave_job(Rank& rank);

  Runtime runtime_;
  Mpi& mpi_;
  Transfers& transfers_;
  Failures& failures_;
  ActionLog& actions_;
  std::vector<Completion>& completions_;
};

}  // namespace tisim
