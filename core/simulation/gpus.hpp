// GPUs of MPI ranks: each rank is the host thread of one, and launches blocks of a graph on it
// (graph/graph_run.hpp). Transfers between GPUs share links with messages.
//
// The next event of a GPU is an activity that ends at a date; each transfer is an activity that
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
  // The links of the graph are those of the platform, its lanes are the ranks. `like`: two hosts
  // per meeting; a channel gets the link share of a message between them. `logs`: keep the spans.
  // Throws std::invalid_argument.
  Gpus(GraphPrograms programs, std::vector<std::pair<std::int32_t, std::int32_t>> like, bool logs,
       const Runtime& runtime, Network& network, Activities& activities);
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  // The rank launches a block `times` times; it is woken after the last launch.
  void launch(std::int32_t rank, std::int32_t block, std::int32_t times);
  // Handles the end of an activity. Returns false if it is not one of these.
  bool end(std::int32_t activity);

  const GraphRun& graph() const { return graph_; }
  // The first two nodes that met with different calls.
  const std::optional<std::pair<std::int32_t, std::int32_t>>& mismatch() const { return mismatch_; }

  // Throws BrokenInvariant.
  void verify() const { graph_.verify(); }

 private:
  static constexpr std::int32_t kDate = -1;  // a date instead of a meeting
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
  std::unordered_map<std::int32_t, std::int32_t> under_way_;  // meeting by activity
  std::vector<std::int32_t> variables_;       // by call, each of one meeting; -1: not created yet
  double next_;                               // the earliest scheduled date
  std::int32_t next_activity_ = kNoActivity;  // ends at `next_`
  std::optional<std::pair<std::int32_t, std::int32_t>> mismatch_;
};

}  // namespace tisim
