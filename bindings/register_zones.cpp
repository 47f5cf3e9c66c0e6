// The zones of platforms, for which Python passes the data that their routes are computed from.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "checks.hpp"
#include "platform/zones/dragonfly.hpp"
#include "platform/zones/fat_tree.hpp"
#include "platform/zones/flat_cluster.hpp"
#include "platform/zones/star.hpp"
#include "platform/zones/table.hpp"
#include "platform/zones/torus.hpp"
#include "platform/zones/vivaldi.hpp"
#include "platform/zones/zone_tree.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Points are pairs of a zone and a vertex; (-1, -1): none.
using Place = std::pair<std::int32_t, std::int32_t>;
using Numbers = std::vector<std::int32_t>;
using LinksOfVertices = std::vector<std::tuple<Numbers, Numbers, std::optional<Numbers>>>;

Point point(const Place& place) { return {place.first, place.second}; }

std::vector<Point> points(const std::vector<Place>& places) {
  std::vector<Point> made;
  made.reserve(places.size());
  for (const Place& place : places) made.push_back(point(place));
  return made;
}

std::vector<VertexLinks> vertex_links(LinksOfVertices links) {
  std::vector<VertexLinks> made;
  made.reserve(links.size());
  for (auto& [up, down, loopback] : links) {
    made.push_back({std::move(up), std::move(down), std::move(loopback)});
  }
  return made;
}

void make_routes(DeclaredRoutes* self, const Array<std::int64_t>& offset,
                 const Array<std::int32_t>& links, const std::vector<Place>& begin,
                 const std::vector<Place>& end) {
  new (self) DeclaredRoutes(copy(offset), copy(links), points(begin), points(end));
}

template <class Table>
void make_table(Table* self, const Place& place, std::int32_t size,
                const Array<std::int32_t>& sources, const Array<std::int32_t>& destinations,
                const DeclaredRoutes& routes) {
  new (self) Table(point(place), size, copy(sources), copy(destinations), routes);
}

template <class Table>
void register_table(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Table, Zone>(m, name, doc)
      .def("__init__", &make_table<Table>, "place"_a, "size"_a, "sources"_a, "destinations"_a,
           "routes"_a,
           nb::sig("def __init__(self, place: tuple[int, int], size: int, "
                   "sources: array.array[int], destinations: array.array[int], "
                   "routes: DeclaredRoutes) -> None"));
}

void make_tree(ZoneTree* self, const std::vector<std::shared_ptr<Zone>>& zones, std::int32_t hosts,
               const std::vector<std::pair<std::int32_t, Place>>& runs,
               std::vector<Bypasses> bypasses) {
  std::vector<HostRun> made;
  made.reserve(runs.size());
  for (const auto& [first, place] : runs) made.push_back({first, point(place)});
  new (self) ZoneTree({zones.begin(), zones.end()}, hosts, std::move(made), std::move(bypasses));
}

std::optional<std::pair<Numbers, double>> route(const ZoneTree& tree, std::int32_t source,
                                                std::int32_t destination,
                                                const Array<double>& link_latency) {
  for (const std::int32_t host : {source, destination}) {
    check_index(host, static_cast<std::size_t>(tree.hosts()), "host");
  }
  if (tree.links_end() > 0) check_index(tree.links_end() - 1, link_latency.size(), "link");
  Numbers links;
  const double latency =
      tree.route(source, destination, {link_latency.data(), link_latency.size()}, links);
  if (latency < 0) return std::nullopt;
  return std::pair(std::move(links), latency);
}

}  // namespace

void register_zones(nb::module_& m) {
  nb::class_<ClusterLinks>(m, "ClusterLinks", "Link numbering of a cluster.")
      .def(
          "__init__",
          [](ClusterLinks* self, std::int32_t first, bool loopback, bool limiter, bool is_split) {
            new (self) ClusterLinks{first, loopback, limiter, is_split};
          },
          "first"_a, nb::kw_only(), "loopback"_a, "limiter"_a, "is_split"_a);
  nb::class_<DeclaredRoutes>(m, "DeclaredRoutes", "Routes declared one by one.")
      .def("__init__", &make_routes, "offset"_a, "links"_a, "begin"_a, "end"_a,
           nb::sig("def __init__(self, offset: array.array[int], links: array.array[int], "
                   "begin: collections.abc.Sequence[tuple[int, int]], "
                   "end: collections.abc.Sequence[tuple[int, int]]) -> None"));

  nb::class_<Zone>(m, "Zone", "A part of a platform with its own routing.");
  nb::class_<UnroutedZone, Zone>(m, "UnroutedZone", "A zone whose routes are computed in Python.")
      .def(
          "__init__",
          [](UnroutedZone* self, const Place& place, std::int32_t size) {
            new (self) UnroutedZone(point(place), size);
          },
          "place"_a, "size"_a);
  nb::class_<FlatCluster, Zone>(m, "FlatCluster", "Hosts on one switch.")
      .def(
          "__init__",
          [](FlatCluster* self, const Place& place, const ClusterLinks& links, std::int32_t hosts,
             bool backbone) { new (self) FlatCluster(point(place), links, hosts, backbone); },
          "place"_a, "links"_a, "hosts"_a, "backbone"_a);
  nb::class_<TorusCluster, Zone>(m, "TorusCluster", "Hosts in a torus.")
      .def(
          "__init__",
          [](TorusCluster* self, const Place& place, const ClusterLinks& links, Numbers sizes) {
            new (self) TorusCluster(point(place), links, std::move(sizes));
          },
          "place"_a, "links"_a, "sizes"_a);
  nb::class_<FatTreeCluster, Zone>(m, "FatTreeCluster", "Hosts that are the leaves of a fat tree.")
      .def(
          "__init__",
          [](FatTreeCluster* self, const Place& place, const ClusterLinks& links,
             const Numbers& children, const Numbers& parents, const Numbers& ports,
             std::int32_t hosts_before) {
            new (self) FatTreeCluster(point(place), links, children, parents, ports, hosts_before);
          },
          "place"_a, "links"_a, "children"_a, "parents"_a, "ports"_a, "hosts_before"_a);
  nb::class_<DragonflyCluster, Zone>(m, "DragonflyCluster", "Hosts in a dragonfly.")
      .def(
          "__init__",
          [](DragonflyCluster* self, const Place& place, const ClusterLinks& links,
             std::int32_t groups, std::int32_t chassis, std::int32_t blades, std::int32_t nodes) {
            new (self) DragonflyCluster(point(place), links, groups, chassis, blades, nodes);
          },
          "place"_a, "links"_a, "groups"_a, "chassis"_a, "blades"_a, "nodes"_a);
  nb::class_<StarZone, Zone>(m, "StarZone", "Vertices with links to a centre.")
      .def(
          "__init__",
          [](StarZone* self, const Place& place, LinksOfVertices links) {
            new (self) StarZone(point(place), vertex_links(std::move(links)));
          },
          "place"_a, "links"_a);
  nb::class_<VivaldiZone, StarZone>(m, "VivaldiZone", "Peers with coordinates.")
      .def(
          "__init__",
          [](VivaldiZone* self, const Place& place, LinksOfVertices links,
             std::vector<VivaldiZone::Coordinates> coordinates,
             const std::vector<Place>& gateways) {
            new (self) VivaldiZone(point(place), vertex_links(std::move(links)),
                                   std::move(coordinates), points(gateways));
          },
          "place"_a, "links"_a, "coordinates"_a, "gateways"_a);
  register_table<FullZone>(m, "FullZone", "A declared route for each pair.");
  register_table<FloydZone>(m, "FloydZone", "Shortest paths over declared routes, for all pairs.");
  register_table<DijkstraZone>(m, "DijkstraZone",
                               "Shortest paths over declared routes, per source.");

  nb::class_<Bypasses>(m, "Bypasses", "Routes that replace those of a zone's routing.")
      .def(
          "__init__",
          [](Bypasses* self, std::int32_t zone, const std::vector<Place>& sources,
             const std::vector<Place>& destinations, const DeclaredRoutes& routes) {
            new (self) Bypasses{zone, points(sources), points(destinations), routes};
          },
          "zone"_a, "sources"_a, "destinations"_a, "routes"_a);
  nb::class_<ZoneTree>(m, "ZoneTree",
                       "The zones of a platform and the positions of its hosts in them.")
      .def("__init__", &make_tree, "zones"_a, "hosts"_a, "runs"_a, "bypasses"_a)
      .def("route", &route, "source"_a, "destination"_a, "link_latency"_a,
           nb::sig("def route(self, source: int, destination: int, "
                   "link_latency: array.array[float]) -> tuple[list[int], float] | None"),
           "Returns the links from one host to another and the latency in seconds, or None if "
           "there is no route.");
}

}  // namespace tisim
