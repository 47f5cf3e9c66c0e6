#include "platform/routes.hpp"

namespace tisim {

bool RouteTable::find(std::int32_t source, std::int32_t destination, Route& route) const {
  if (!own_.empty()) {
    const auto own = own_.find(PlatformData::key(source, destination));
    if (own != own_.end()) {
      route = own->second;
      return true;
    }
  }
  if (!data_.zones) return false;
  route.latency = data_.zones->route(source, destination, data_.link_latency, route.links);
  return route.latency >= 0;
}

}  // namespace tisim
