// Hosts that are the leaves of a parallel-ports generalised fat tree with D-mod-K routing (Zahavi,
// "Fat-tree routing and node ordering providing contention free traffic for MPI global
// collectives", JPDC 2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/zones/cluster.hpp"

namespace tisim {

class FatTreeCluster final : public Cluster {
 public:
  // From the hosts upwards, for each level: children a switch, parents a node, ports a pair.
  // `hosts_before`: of the fat trees declared earlier, over which SimGrid counts on.
  FatTreeCluster(Point place, ClusterLinks links, const std::vector<std::int32_t>& children,
                 const std::vector<std::int32_t>& parents, const std::vector<std::int32_t>& ports,
                 std::int32_t hosts_before);

  std::int32_t size() const override { return hosts_; }
  std::int64_t links_end() const override { return end_; }
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  // The numbers of a level, and what is below it. A node is labelled by one digit a level, parents
  // below its own level and children above; its position has the lowest digit first, so that its
  // digits from a level on are a quotient.
  struct Level {
    std::int32_t children = 0, parents = 0, ports = 0, fan = 0;
    std::int32_t leaves = 1;    // product of the children below: hosts under a switch of this level
    std::int32_t siblings = 1;  // product of the parents below
    std::int32_t first_limiter = 0, first_cable = 0;  // of its nodes, and upwards from them
  };

  // Goes up from the source until the destination is below; the position and the level of the
  // switch there.
  std::int32_t climb(std::int32_t source, std::int32_t destination, LocalRoute& route,
                     std::size_t& level) const;
  // Goes down from there; each level goes on counting ports where the one above stopped.
  void descend(std::int32_t position, std::int32_t source, std::int32_t destination,
               LocalRoute& route, std::size_t level) const;
  std::int32_t limiter_of(std::size_t level, std::int32_t position) const;
  // The upward link of a cable, from a node of the level to one above it.
  std::int32_t cable(const Level& level, std::int32_t child, std::int32_t parent_digit,
                     std::int32_t port) const;

  std::vector<Level> levels_;  // that of the switches at the top has no cables
  std::int64_t hosts_before_;
  std::int32_t hosts_ = 1;
  std::int32_t end_ = 0;
};

}  // namespace tisim
