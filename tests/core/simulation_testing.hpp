// Test helpers for the MPI layer and the interpreter: programs in memory, on a cluster whose times
// can be computed by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/model_testing.hpp"
#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "mpi/schedule_check.hpp"
#include "simulation/simulation.hpp"

namespace tisim {

// Accesses the internals of a simulation, to corrupt it and check that `verify` fails.
struct SimulationTesting {
  static Clock& clock(Simulation& s) { return s.clock_; }
  static Ranks& ranks(Simulation& s) { return s.ranks_; }
  static Mpi& mpi(Simulation& s) { return s.mpi_; }
  static Transfers& transfers(Simulation& s) { return s.transfers_; }
};

namespace test {

// Messages of n bytes take 1 s + n / 1000 s to any host; a host computes 1 flop in 1 s. Everything
// else is free, and all sends of less than 64 KiB are detached.
inline Model simple_model() {
  Model model = plain_model();
  model.weight_s = 0.0;
  model.tcp_gamma = 0.0;
  model.crosstraffic = false;
  model.envelope = 0.0;
  model.precision_timing = 1e-9;
  model.precision_maxmin = 1e-5;
  model.eager_threshold = 0;
  model.detached_threshold = 65536;
  model.overheads.assign(1, {});
  model.test_sleep = 0.0;
  model.iprobe_sleep = 0.0;
  model.iprobe_cpu_usage = 1.0;
  model.grow_injected_times = true;
  model.simulate_computation = true;
  model.kept_operations = 1000;
  return model;
}

inline std::shared_ptr<const PlatformData> simple_platform(std::int32_t hosts) {
  auto data = std::make_shared<PlatformData>();
  const auto add_cable = [&] {
    data->link_bandwidth.push_back(1000.0);
    data->link_latency.push_back(0.5);
    data->link_fatpipe.push_back(1);  // shared by any number of flows
  };
  for (std::int32_t host = 0; host < hosts; ++host) {
    data->host_speed.push_back(1.0);
    data->host_cores.push_back(1);
    add_cable();
    add_cable();
  }
  data->zones = one_cluster({.is_split = true}, hosts, false);
  return data;
}

// One program per rank, each rank on its own host; lines omit the rank.
using Program = std::vector<std::string>;

inline std::shared_ptr<const TraceSet> trace_of(const std::vector<Program>& programs) {
  std::vector<std::string> texts(programs.size());
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    texts[rank] = std::to_string(rank) + " init\n";
    for (const std::string& line : programs[rank]) {
      texts[rank].append(std::to_string(rank)).append(" ").append(line).append("\n");
    }
  }
  return TraceSet::open(files_of(texts), "test", Dialect::modern);
}

// The columns of a schedule that a test passes to a simulation.
struct ScheduleColumns {
  void add(StepCode code, std::int32_t peer, double bytes = 0, std::int32_t slot = -1) {
    codes.push_back(static_cast<std::int32_t>(code));
    peers.push_back(peer);
    sizes.push_back(bytes);
    tags.push_back(0);
    slots.push_back(slot);
  }
  void provide(Simulation& simulation) const {
    simulation.provide_schedule(codes, peers, sizes, tags, slots, false);
  }

  std::vector<std::int32_t> codes, peers, tags, slots;
  std::vector<double> sizes;
};

class Replay {
 public:
  explicit Replay(const std::vector<Program>& programs, Model model = simple_model())
      : simulation(std::move(model), simple_platform(static_cast<std::int32_t>(programs.size()))) {
    std::vector<std::int32_t> hosts(programs.size());
    std::iota(hosts.begin(), hosts.end(), 0);
    simulation.add_job(trace_of(programs), hosts);
  }

  // Runs to the end. Collectives have no messages, except that in a comm_split rank 0 receives from
  // each other rank and then sends to it.
  Replay& run() {
    do {
      if (simulation.stopped_by() == Stop::need_schedule) answer();
      stop = simulation.run();
      simulation.verify();
      simulation.take_completions();
    } while (stop == Stop::need_schedule || stop == Stop::completion);
    return *this;
  }
  // Returns the time at which a rank has finished, in seconds.
  double finish(std::int32_t rank) const {
    return simulation.ranks()[static_cast<std::size_t>(rank)].finish;
  }
  Phase phase(std::int32_t rank) const {
    return simulation.ranks()[static_cast<std::size_t>(rank)].phase;
  }

  Simulation simulation;
  Stop stop = Stop::pause;

 private:
  void answer() {
    const Question& asked = simulation.question();
    const std::int32_t size = simulation.communicator(asked.comm).size;
    ScheduleColumns steps;
    const bool is_split = asked.stage == Stage::colors || asked.stage == Stage::groups;
    if (is_split && asked.number > 0) {
      steps.add(StepCode::send, 0);
      steps.add(StepCode::recv, 0);
    }
    for (std::int32_t peer = 1; is_split && asked.number == 0 && peer < size; ++peer) {
      steps.add(asked.stage == Stage::colors ? StepCode::recv : StepCode::send, peer);
    }
    steps.provide(simulation);
  }
};

// Returns true if the program of each rank ends at its time, in seconds.
inline bool finishes(const std::vector<Program>& programs, const std::vector<double>& times,
                     const Model& model = simple_model()) {
  Replay replay(programs, model);
  replay.run();
  bool all = replay.stop == Stop::done;
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    const double time = replay.finish(static_cast<std::int32_t>(rank));
    if (close(time, times[rank], 1e-9)) continue;
    std::fprintf(stderr, "rank %zu ends at %.9g, not at %.9g\n", rank, time, times[rank]);
    all = false;
  }
  if (replay.stop != Stop::done) std::fprintf(stderr, "stopped with %d\n", int(replay.stop));
  return all;
}

}  // namespace test
}  // namespace tisim
