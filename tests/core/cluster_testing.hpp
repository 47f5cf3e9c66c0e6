// Platforms of one cluster, for tests and for what trains the compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "platform/zones/flat_cluster.hpp"
#include "platform/zones/zone_tree.hpp"

namespace tisim::test {

// All hosts are those of one cluster.
inline std::shared_ptr<const ZoneTree> one_cluster(ClusterLinks links, std::int32_t hosts,
                                                   bool backbone) {
  std::vector<std::shared_ptr<const Zone>> zones;
  zones.push_back(std::make_shared<FlatCluster>(Point{}, links, hosts, backbone));
  return std::make_shared<ZoneTree>(std::move(zones), hosts, std::vector<HostRun>{{0, {0, 0}}},
                                    std::vector<Bypasses>{});
}

}  // namespace tisim::test
