// Hosts with one link each (and a limiter), joined by a backbone or directly.
#pragma once

#include <cstdint>

#include "platform/zones/cluster.hpp"

namespace tisim {

// The vertex after the last host is the router; it has no link of its own.
class FlatCluster final : public Cluster {
 public:
  // The backbone, if any, is the first link.
  FlatCluster(Point place, ClusterLinks links, std::int32_t hosts, bool backbone);

  std::int32_t size() const override { return hosts_ + 1; }
  std::int64_t links_end() const override { return end_; }
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  std::int32_t hosts_;
  bool backbone_;
  std::int32_t row_, end_;
};

}  // namespace tisim
