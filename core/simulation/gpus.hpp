// GPUs beside MPI: each rank is the host thread of one, and launches blocks of a graph on it
// (graph/graph_run.hpp). What GPUs send to one another shares links with messages.
//
// The next event of a GPU is an activity that ends at a date, and bytes that move are one that
// ends with its flow.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_run.hpp"
#include "mpi/runtime.hpp"
#include "network/network.hpp"
#include "transfer/activities.hpp"

namespace tisim {

class Gpus {
 public:
  // The links of the graph are those of the platform, and its lanes the ranks. `like`: of each
  // meeting two hosts; a channel has the share of a link that a message from the one to the other
  // would have. `logs`: keep the spans. Throws std::invalid_argument.
  Gpus(GraphPrograms programs, std::vector<std::pair<std::int32_t, std::int32_t>> like, bool logs,
       const Runtime& runtime, Network& network, Activities& activities);
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  // The rank launches a block so many times; it is woken when all is launched.
  void launch(std::int32_t rank, std::int32_t block, std::int32_t times);
  // The activity has ended. False: it is none of these.
  bool end(std::int32_t activity);

  const GraphRun& graph() const { return graph_; }
  // Two nodes that meet and do not fit, the first time this has happened.
  const std::optional<std::pair<std::int32_t, std::int32_t>>& mismatch() const { return mismatch_; }

  // Throws BrokenInvariant.
  void verify() const { graph_.verify(); }

 private:
  static constexpr std::int32_t kDate = -1;  // in place of a meeting
  static constexpr std::int32_t kNoActivity = -1;

  template <class Act>
  void follow(Act act);
  void start(std::int32_t meeting, std::int32_t call);
  std::int32_t variable(std::int32_t meeting, std::int32_t call);

  GraphRun graph_;
  std::vector<std::pair<std::int32_t, std::int32_t>> like_;
  Runtime runtime_;
  Network& network_;
  Activities& activities_;
  std::unordered_map<std::int32_t, std::int32_t> under_way_;  // the meetings of activities
  std::vector<std::int32_t> variables_;       // by call, which is of one meeting; -1: none yet
  double next_;                               // the earliest date under way
  std::int32_t next_activity_ = kNoActivity;  // ends then
  std::optional<std::pair<std::int32_t, std::int32_t>> mismatch_;
};

}  // namespace tisim
