// Executes the operations of a rank until it has to wait: says which class carries out which
// operation, and what follows when the rank is woken.
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

  // The rank was woken. False: somebody outside has to do something first, see `Interruption`.
  bool run(std::int32_t rank);

 private:
  // True if the operation is done; otherwise the rank's phase gives the next step.
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
