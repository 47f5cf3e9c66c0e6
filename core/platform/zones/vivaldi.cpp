#include "platform/zones/vivaldi.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "platform/zones/route_search.hpp"

namespace tisim {

VivaldiZone::VivaldiZone(Point place, std::vector<VertexLinks> vertices,
                         std::vector<Coordinates> coordinates, std::vector<Point> gateways)
    : StarZone(place, std::move(vertices)),
      coordinates_(std::move(coordinates)),
      gateways_(std::move(gateways)) {
  const auto count = static_cast<std::size_t>(size());
  if (coordinates_.size() != count || gateways_.size() != count) {
    throw std::invalid_argument("each vertex has a place for coordinates and a gateway");
  }
}

bool VivaldiZone::route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
                        LocalRoute& route) const {
  const auto a = static_cast<std::size_t>(source), b = static_cast<std::size_t>(destination);
  if (!coordinates_[a] || !coordinates_[b]) return false;
  const std::size_t before = route.links.size();
  StarZone::route(search, source, destination, route);
  search.append_terms(route.links, before, route.terms);
  const auto& [x1, y1, z1] = *coordinates_[a];
  const auto& [x2, y2, z2] = *coordinates_[b];
  const double plane = std::sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2));
  route.terms.push_back((plane + std::abs(z1) + std::abs(z2)) / 1000.0);
  route.begin = gateways_[a];
  route.end = gateways_[b];
  return true;
}

}  // namespace tisim
