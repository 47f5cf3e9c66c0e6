// The model and the platforms shared by tests of the core and by the compiler's training run.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "platform/model.hpp"
#include "platform/zones/flat_cluster.hpp"
#include "platform/zones/zone_tree.hpp"

namespace tisim::test {

// All hosts belong to one cluster.
inline std::shared_ptr<const ZoneTree> one_cluster(ClusterLinks links, std::int32_t hosts,
                                                   bool backbone) {
  std::vector<std::shared_ptr<const Zone>> zones;
  zones.push_back(std::make_shared<FlatCluster>(Point{}, links, hosts, backbone));
  return std::make_shared<ZoneTree>(std::move(zones), hosts, std::vector<HostRun>{{0, {0, 0}}},
                                    std::vector<Bypasses>{});
}

// Factors of one; no TCP window bound, link weights, crosstraffic or overheads.
inline Model plain_model() {
  Model model;
  model.latency_factor.first = 1.0;
  model.bandwidth_factor.first = 1.0;
  model.envelope = 16.0;
  model.ordering = "fair";
  model.rendezvous = "put";
  model.rma = "simgrid";
  model.fragment_bytes = 131072;
  model.fragments_queued = 3;
  model.precision_timing = 1e-9;
  model.precision_maxmin = 1e-5;
  model.detached_threshold = 65536;
  model.overheads.resize(1);
  model.test_sleep = 1e-4;
  model.iprobe_sleep = 1e-4;
  model.iprobe_cpu_usage = 1.0;
  model.grow_injected_times = true;
  model.simulate_computation = true;
  model.kept_operations = 4'000'000;
  return model;
}

}  // namespace tisim::test
