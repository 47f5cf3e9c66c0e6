#include "platform/zones/torus.hpp"

#include <cstddef>
#include <utility>

namespace tisim {

namespace {

// Returns true if a message goes in the direction of rising numbers; ties follow SimGrid.
bool goes_rightwards(std::int32_t start, std::int32_t goal, std::int32_t size) {
  const std::int32_t half = size / 2;
  if (start < goal && goal <= start + half) return true;
  return start > half && (start + half) % size >= goal;
}

}  // namespace

TorusCluster::TorusCluster(Point place, ClusterLinks links, std::vector<std::int32_t> sizes)
    : Cluster(place, links), sizes_(std::move(sizes)) {
  for (const std::int32_t size : sizes_) {
    if (size < 1) throw std::invalid_argument("a dimension of a torus has at least one host");
    hosts_ = counted(std::int64_t{hosts_} * size);
  }
  row_ = counted(links.own() + links.wires() * static_cast<std::int64_t>(sizes_.size()));
  end_ = counted(links.first + std::int64_t{hosts_} * row_);
}

bool TorusCluster::route(const RouteSearch&, std::int32_t source, std::int32_t destination,
                         LocalRoute& route) const {
  const std::int32_t first = numbers().first;
  if (source == destination && numbers().loopback) {
    route.links.push_back(first + source * row_);
    return true;
  }
  const std::int32_t limiter = first + numbers().limiter_column();
  std::int32_t host = source;
  std::int32_t stride = 1;
  std::int32_t column = first + numbers().own();
  for (const std::int32_t size : sizes_) {
    std::int32_t at = source / stride % size;
    const std::int32_t goal = destination / stride % size;
    const bool rightwards = at != goal && goes_rightwards(at, goal, size);
    while (at != goal) {
      if (numbers().limiter) route.links.push_back(limiter + host * row_);
      const std::int32_t next =
          rightwards ? (at + 1 == size ? 0 : at + 1) : (at == 0 ? size - 1 : at - 1);
      const std::int32_t there = host + (next - at) * stride;
      // A cable belongs to the host at its lower end.
      route.links.push_back(rightwards ? column + host * row_
                                       : column + numbers().wires() - 1 + there * row_);
      host = there;
      at = next;
    }
    stride *= size;
    column += numbers().wires();
  }
  if (numbers().limiter) route.links.push_back(limiter + destination * row_);
  return true;
}

}  // namespace tisim
