// Hosts in a dragonfly: groups of chassis of blades (Faanes et al., "Cray Cascade: a scalable HPC
// system based on a Dragonfly network", SC 2012), with minimal routing.
#pragma once

#include <array>
#include <cstdint>

#include "platform/zones/cluster.hpp"

namespace tisim {

// The blades of a chassis are joined by green cables, corresponding blades of a group's chassis by
// black ones, and blade n of a group's first chassis has the blue cable to group n.
class DragonflyCluster final : public Cluster {
 public:
  // `nodes`: hosts per blade.
  DragonflyCluster(Point place, ClusterLinks links, std::int32_t groups, std::int32_t chassis,
                   std::int32_t blades, std::int32_t nodes);

  std::int32_t size() const override { return hosts_; }
  std::int64_t links_end() const override { return end_; }
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  enum Cables : std::size_t { local, green, black, blue };
  struct Blade {
    std::int32_t group, chassis, blade;
    bool operator==(const Blade&) const = default;
  };

  Blade blade_of(std::int32_t host) const;
  void travel(Blade from, Blade to, LocalRoute& route) const;
  void append_limiter(Blade blade, LocalRoute& route) const;
  // Returns the link of a cable in the direction from one end to the other; `row`: index of the
  // cable.
  std::int32_t cable(Cables level, std::int32_t row, std::int32_t from, std::int32_t to) const;
  void append_green(Blade from, std::int32_t to, LocalRoute& route) const;
  void append_black(Blade from, std::int32_t to, LocalRoute& route) const;

  std::int32_t groups_, chassis_, blades_, nodes_;
  std::int32_t hosts_ = 0, first_limiter_ = 0, end_ = 0;
  std::array<std::int32_t, 4> first_cable_{};  // first link of each level
};

}  // namespace tisim
