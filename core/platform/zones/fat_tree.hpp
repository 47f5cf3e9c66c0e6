// Hosts as leaves of a parallel-ports generalised fat tree with D-mod-K routing (Zahavi, "Fat-tree
// routing and node ordering providing contention free traffic for MPI global collectives", JPDC
// 2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/zones/cluster.hpp"

namespace tisim {

class FatTreeCluster final : public Cluster {
 public:
  // Per level, from the hosts up: children per switch, parents per node, ports per pair.
  // `hosts_before`: hosts of the fat trees declared earlier; SimGrid continues their numbering.
  FatTreeCluster(Point place, ClusterLinks links, const std::vector<std::int32_t>& children,
                 const std::vector<std::int32_t>& parents, const std::vector<std::int32_t>& ports,
                 std::int32_t hosts_before);

  std::int32_t size() const override { return hosts_; }
  std::int64_t links_end() const override { return end_; }
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  // The numbers of a level and of the levels below. A node is labelled by one digit per level,
  // parents below its own level and children above; its position has the lowest digit first, so
  // that its digits from a level on are a quotient.
  struct Level {
    std::int32_t children = 0, parents = 0, ports = 0, fan = 0;
    std::int32_t leaves = 1;    // product of the children below: hosts per switch of this level
    std::int32_t siblings = 1;  // product of the parents below
    std::int32_t first_limiter = 0, first_cable = 0;  // of its nodes, and upwards from them
  };

  // Climbs from the source to the first switch above the destination; returns its position and
  // level.
  std::int32_t climb(std::int32_t source, std::int32_t destination, LocalRoute& route,
                     std::size_t& level) const;
  // Descends from there; each level continues the port numbering of the one above.
  void descend(std::int32_t position, std::int32_t source, std::int32_t destination,
               LocalRoute& route, std::size_t level) const;
  std::int32_t limiter_of(std::size_t level, std::int32_t position) const;
  // Returns the upward link of a cable, from a node of the level to one above it.
  std::int32_t cable(const Level& level, std::int32_t child, std::int32_t parent_digit,
                     std::int32_t port) const;

  std::vector<Level> levels_;  // the top level of switches has no cables
  std::int64_t hosts_before_;
  std::int32_t hosts_ = 1;
  std::int32_t end_ = 0;
};

}  // namespace tisim
