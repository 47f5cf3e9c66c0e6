#include "platform/zones/route_search.hpp"

#include <algorithm>

#include "platform/zones/zone_tree.hpp"

namespace tisim {

bool RouteSearch::find(Point source, Point destination, std::vector<std::int32_t>& links,
                       std::vector<double>& terms) const {
  if (!tree_.has(source) || !tree_.has(destination)) return false;
  const Common common = common_zone(source.zone, destination.zone);
  // Sub-routes must be deeper than the route; this ends the search.
  if (common.zone < 0 || tree_.depth(common.zone) <= above_) return false;
  const RouteSearch inner(tree_, latency_of_, tree_.depth(common.zone));
  if (tree_.has_bypasses(common.zone)) {
    DeclaredRoute bypass;
    if (find_bypass(common.zone, source, destination, bypass)) {
      return inner.take_bypass(source, destination, bypass, links, terms);
    }
  }
  if (source.zone != destination.zone) {
    return inner.cross(common, source, destination, links, terms);
  }
  const Zone& zone = tree_.zone(common.zone);
  const std::size_t before = links.size(), terms_before = terms.size();
  LocalRoute route{links, terms};
  if (!zone.route(inner, source.vertex, destination.vertex, route)) return false;
  if (terms.size() == terms_before) append_terms(links, before, terms);
  if (zone.prepends()) {
    std::rotate(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(before), links.end());
  }
  return true;
}

void RouteSearch::append_terms(const std::vector<std::int32_t>& links, std::size_t begin,
                               std::vector<double>& terms) const {
  for (std::size_t i = begin; i < links.size(); ++i) {
    terms.push_back(latency_of_[static_cast<std::size_t>(links[i])]);
  }
}

// The route between two zones, plus the routes to its begin and from its end.
bool RouteSearch::cross(const Common& common, Point source, Point destination,
                        std::vector<std::int32_t>& links, std::vector<double>& terms) const {
  if (common.source < 0 || common.destination < 0) return false;
  std::vector<std::int32_t> between;
  const std::size_t terms_before = terms.size();
  LocalRoute route{between, terms};
  if (!tree_.zone(common.zone)
           .route(*this, tree_.zone(common.source).place().vertex,
                  tree_.zone(common.destination).place().vertex, route)) {
    return false;
  }
  if (terms.size() == terms_before) append_terms(between, 0, terms);
  if (route.begin.zone < 0 || route.end.zone < 0) return false;
  if (route.begin != source && !find(source, route.begin, links, terms)) return false;
  links.insert(links.end(), between.begin(), between.end());
  return route.end == destination || find(route.end, destination, links, terms);
}

// As in SimGrid, a gateway that is itself an end takes its own loopback.
bool RouteSearch::take_bypass(Point source, Point destination, const DeclaredRoute& bypass,
                              std::vector<std::int32_t>& links, std::vector<double>& terms) const {
  if (bypass.begin.zone >= 0 && !find(source, bypass.begin, links, terms)) return false;
  const std::size_t before = links.size();
  links.insert(links.end(), bypass.links.begin(), bypass.links.end());
  append_terms(links, before, terms);
  return bypass.end.zone < 0 || find(bypass.end, destination, links, terms);
}

RouteSearch::Common RouteSearch::common_zone(std::int32_t source, std::int32_t destination) const {
  std::int32_t below_source = -1, below_destination = -1;
  while (source != destination && source >= 0 && destination >= 0) {
    if (tree_.depth(source) >= tree_.depth(destination)) {
      below_source = source;
      source = tree_.parent(source);
    } else {
      below_destination = destination;
      destination = tree_.parent(destination);
    }
  }
  if (source != destination) return {-1, -1, -1};
  return {source, below_source, below_destination};
}

// Finds the bypass that saves the longest climb, among those declared in the common zone.
bool RouteSearch::find_bypass(std::int32_t common, Point source, Point destination,
                              DeclaredRoute& bypass) const {
  if (source.zone == common && destination.zone == common) {
    return tree_.find_bypass(common, source, destination, bypass);
  }
  const std::vector<Point> ups = path(source.zone, common), downs = path(destination.zone, common);
  const auto look = [&](std::size_t up, std::size_t down) {
    return up < ups.size() && down < downs.size() &&
           tree_.find_bypass(common, ups[up], downs[down], bypass);
  };
  for (std::size_t most = 0; most < std::max(ups.size(), downs.size()); ++most) {
    for (std::size_t less = 0; less < most; ++less) {
      if (look(less, most) || look(most, less)) return true;
    }
    if (look(most, most)) return true;
  }
  return false;
}

// Lists the zones from `zone` outwards, up to below the common one.
std::vector<Point> RouteSearch::path(std::int32_t zone, std::int32_t common) const {
  std::vector<Point> path;
  for (; zone != common; zone = tree_.parent(zone)) path.push_back(tree_.zone(zone).place());
  return path;
}

}  // namespace tisim
