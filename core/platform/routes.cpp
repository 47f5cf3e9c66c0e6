#include "platform/routes.hpp"

namespace tisim {

void RouteTable::append(std::int32_t segment, Route& route) const {
  if (segment < 0) return;
  const auto links = data_.links_of(segment);
  route.links.insert(route.links.end(), links.begin(), links.end());
  route.latency += data_.segment_latency[static_cast<std::size_t>(segment)];
}

bool RouteTable::find(std::int32_t source, std::int32_t destination, Route& route) const {
  route.links.clear();
  route.latency = 0.0;
  if (!own_.empty()) {
    const auto found = own_.find(PlatformData::key(source, destination));
    if (found != own_.end()) {
      route = found->second;
      return true;
    }
  }
  const auto a = static_cast<std::size_t>(source);
  const auto b = static_cast<std::size_t>(destination);
  if (source == destination && data_.host_loopback[a] >= 0) {
    append(data_.host_loopback[a], route);
    return true;
  }
  if (data_.host_group[a] < 0 || data_.host_group[b] < 0) return false;
  const auto middle =
      data_.middle.find(PlatformData::key(data_.host_group[a], data_.host_group[b]));
  if (middle == data_.middle.end()) return false;
  append(data_.host_up[a], route);
  append(middle->second, route);
  append(data_.host_down[b], route);
  return true;
}

}  // namespace tisim
