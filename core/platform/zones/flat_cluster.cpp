#include "platform/zones/flat_cluster.hpp"

#include <algorithm>

namespace tisim {

FlatCluster::FlatCluster(Point place, ClusterLinks links, std::int32_t hosts, bool backbone)
    : Cluster(place, links),
      hosts_(counted(hosts)),
      backbone_(backbone),
      row_(links.own() + links.wires()),
      end_(counted(links.first + std::int64_t{backbone} + std::int64_t{hosts} * row_)) {
  counted(std::int64_t{hosts} + 1);
}

bool FlatCluster::route(const RouteSearch&, std::int32_t source, std::int32_t destination,
                        LocalRoute& route) const {
  const std::int32_t base = numbers().first + (backbone_ ? 1 : 0);
  std::vector<std::int32_t>& links = route.links;
  const auto begin = static_cast<std::ptrdiff_t>(links.size());
  if (source == destination && source < hosts_ && numbers().loopback) {
    links.push_back(base + source * row_);
    return true;
  }
  if (source < hosts_) {
    const std::int32_t up = base + source * row_;
    if (numbers().limiter) links.push_back(up + numbers().limiter_column());
    links.push_back(up + numbers().own());
    if (backbone_) links.push_back(numbers().first);
  }
  if (destination >= hosts_) return true;
  if (source >= hosts_ && backbone_) links.push_back(numbers().first);
  const std::int32_t down = base + destination * row_;
  // A host's route to itself uses each link once.
  const auto take = [&](std::int32_t link) {
    const bool taken =
        source == destination && std::find(links.begin() + begin, links.end(), link) != links.end();
    if (!taken) links.push_back(link);
  };
  take(down + row_ - 1);
  if (numbers().limiter) take(down + numbers().limiter_column());
  return true;
}

}  // namespace tisim
