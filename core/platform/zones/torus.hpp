// Hosts in a torus of any number of dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/zones/cluster.hpp"

namespace tisim {

// In each dimension, host i has the cable to its next neighbour, with wrap-around. Routing is
// dimension-ordered, each dimension in one direction.
class TorusCluster final : public Cluster {
 public:
  TorusCluster(Point place, ClusterLinks links, std::vector<std::int32_t> sizes);

  std::int32_t size() const override { return hosts_; }
  std::int64_t links_end() const override { return end_; }
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  std::vector<std::int32_t> sizes_;
  std::int32_t hosts_ = 1;
  std::int32_t row_ = 0, end_ = 0;
};

}  // namespace tisim
