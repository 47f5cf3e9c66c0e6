// Start and end of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/mpi.hpp"
#include "simulation/action_log.hpp"
#include "simulation/platform_changes.hpp"

namespace tisim {

// Notification of a simulation's caller that an awaited event has occurred.
enum class CompletionType : std::uint8_t {
  activity,         // a computation or transfer posted by the caller
  failed_activity,  // a failed activity
  rank,             // the operation posted to a rank
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

  // Schedules the start of a rank that follows a trace, after a delay in seconds.
  void schedule_start(std::int32_t index, double delay);
  // Starts the rank now; on a failed host it dies at once. Returns true if it continues with its
  // trace.
  bool start(Rank& rank, std::int32_t index);
  // Called at the end of MPI_Init.
  void finish_init(Rank& rank) const { rank.other += runtime_.clock.now() - rank.since; }
  // Called at the end of the rank's trace. Waits for pending requests, then for the barrier of
  // MPI_Finalize, if enabled (smpi/barrier-finalization).
  bool finish(Rank& rank, std::int32_t index);
  // Marks a killed rank as dead.
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
