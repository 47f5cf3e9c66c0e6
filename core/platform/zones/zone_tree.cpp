#include "platform/zones/zone_tree.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "platform/zones/route_search.hpp"

namespace tisim {

ZoneTree::ZoneTree(std::vector<std::shared_ptr<const Zone>> zones, std::int32_t hosts,
                   std::vector<HostRun> runs, std::vector<Bypasses> bypasses)
    : zones_(std::move(zones)),
      hosts_(hosts),
      runs_(std::move(runs)),
      declared_(std::move(bypasses)),
      bypassed_(zones_.size(), false) {
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    const Point place = zones_[i]->place();
    const bool is_inner = place.zone >= 0;
    if (is_inner && (static_cast<std::size_t>(place.zone) >= i || !has(place))) {
      throw std::invalid_argument("a zone is a vertex of a zone before it");
    }
    depth_.push_back(is_inner ? depth(place.zone) + 1 : 0);
    links_end_ = std::max(links_end_, zones_[i]->links_end());
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::int32_t end = i + 1 < runs_.size() ? runs_[i + 1].first : hosts_;
    const HostRun& run = runs_[i];
    if ((i == 0 && run.first != 0) || end <= run.first || !has(run.point) ||
        end - run.first > zone(run.point.zone).size() - run.point.vertex) {
      throw std::invalid_argument("hosts are vertices of zones, in the order of their numbers");
    }
  }
  if (runs_.empty() && hosts_ != 0) throw std::invalid_argument("each host is in a zone");
  for (const Bypasses& bypass : declared_) {
    if (bypass.zone < 0 || static_cast<std::size_t>(bypass.zone) >= zones_.size() ||
        bypass.sources.size() != bypass.routes.size() ||
        bypass.destinations.size() != bypass.routes.size()) {
      throw std::invalid_argument("each bypass has a zone, a source and a destination");
    }
    bypassed_[static_cast<std::size_t>(bypass.zone)] = true;
    links_end_ = std::max(links_end_, bypass.routes.links_end());
    for (std::size_t i = 0; i < bypass.routes.size(); ++i) {
      bypasses_.emplace(key(bypass.zone, bypass.sources[i], bypass.destinations[i]),
                        bypass.routes[i]);
    }
  }
}

Point ZoneTree::point_of(std::int32_t host) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), host,
                       [](std::int32_t number, const HostRun& run) { return number < run.first; });
  const HostRun& run = *(after - 1);
  return {run.point.zone, run.point.vertex + (host - run.first)};
}

bool ZoneTree::find_bypass(std::int32_t zone, Point source, Point destination,
                           DeclaredRoute& bypass) const {
  const auto place = bypasses_.find(key(zone, source, destination));
  if (place == bypasses_.end()) return false;
  bypass = place->second;
  return true;
}

double ZoneTree::route(std::int32_t source, std::int32_t destination,
                       std::span<const double> latency_of, std::vector<std::int32_t>& links) const {
  links.clear();
  std::vector<double> terms;
  terms.reserve(64);
  const RouteSearch search(*this, latency_of);
  if (!search.find(point_of(source), point_of(destination), links, terms)) return -1.0;
  double latency = 0.0;
  for (const double term : terms) latency += term;
  return links.empty() && latency == 0.0 ? -1.0 : latency;
}

}  // namespace tisim
