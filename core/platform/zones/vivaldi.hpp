// Peers with coordinates: the latency is a distance (Dabek et al., SIGCOMM 2004).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "platform/zones/star.hpp"

namespace tisim {

// For points (x, y, z) of the source and the destination, in milliseconds, the distance is hypot(x1
// - x2, y1 - y2) + |z1| + |z2|; z is the distance to the network.
class VivaldiZone final : public StarZone {
 public:
  using Coordinates = std::optional<std::array<double, 3>>;

  // `gateways`: for each inner zone, the router through which it is reached.
  VivaldiZone(Point place, std::vector<VertexLinks> vertices, std::vector<Coordinates> coordinates,
              std::vector<Point> gateways);

  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  std::vector<Coordinates> coordinates_;
  std::vector<Point> gateways_;
};

}  // namespace tisim
