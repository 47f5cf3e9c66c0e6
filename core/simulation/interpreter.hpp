// Executes the operations of a rank until it blocks: dispatches each operation to the class that
// implements it, and continues it when the rank is woken.
#pragma once

#include <cstdint>
#include <vector>

#include "io/file/files.hpp"
#include "mpi/mpi.hpp"
#include "simulation/action_log.hpp"
#include "simulation/rank_lifetime.hpp"

namespace tisim {

class Interpreter {
 public:
  Interpreter(const Runtime& runtime, Mpi& mpi, RankLifetime& lifetime, Files& files,
              ActionLog& actions, std::vector<Completion>& completions)
      : runtime_(runtime),
        mpi_(mpi),
        lifetime_(lifetime),
        files_(files),
        actions_(actions),
        completions_(completions) {}

  // Runs a woken rank. Returns false if the caller must act first, see `Interruption`.
  bool run(std::int32_t rank);

 private:
  // Returns true if the operation is done; otherwise the rank's phase gives the next step.
  bool resume(Rank& rank, std::int32_t index);
  bool begin(Rank& rank, std::int32_t index);
  bool proceed(Rank& rank, std::int32_t index);
  bool fetch(Rank& rank, std::int32_t index);
  bool compute(Rank& rank, std::int32_t index);
  bool compute_in_threads(Rank& rank, std::int32_t index, bool simulated);
  bool sleep(Rank& rank, std::int32_t index);
  bool end_schedule(Rank& rank, std::int32_t index);
  void leave(const Rank& rank, std::int32_t index);
  bool is_late(Rank& rank, std::int32_t index);
  bool ask_action(Rank& rank, std::int32_t index);

  Runtime runtime_;
  Mpi& mpi_;
  RankLifetime& lifetime_;
  Files& files_;
  ActionLog& actions_;
  std::vector<Completion>& completions_;
};

}  // namespace tisim
