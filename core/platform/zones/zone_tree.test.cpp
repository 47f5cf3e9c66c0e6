#include "platform/zones/zone_tree.hpp"

#include <stdexcept>
#include <thread>

#include "core/model_testing.hpp"
#include "core/test.hpp"
#include "platform/zones/dragonfly.hpp"
#include "platform/zones/fat_tree.hpp"
#include "platform/zones/table.hpp"
#include "platform/zones/torus.hpp"

namespace tisim {

namespace {

using Links = std::vector<std::int32_t>;
using Zones = std::vector<std::shared_ptr<const Zone>>;

const std::vector<double> kLatencies(100, 1.0);

DeclaredRoutes routes_of(const std::vector<Links>& routes, std::vector<Point> begin = {},
                         std::vector<Point> end = {}) {
  std::vector<std::int64_t> offset{0};
  Links links;
  for (const Links& route : routes) {
    links.insert(links.end(), route.begin(), route.end());
    offset.push_back(static_cast<std::int64_t>(links.size()));
  }
  return {offset, links, std::move(begin), std::move(end)};
}

// A tree with all hosts in one zone.
ZoneTree tree_of(std::shared_ptr<const Zone> zone) {
  const std::int32_t hosts = zone->size();
  return ZoneTree({std::move(zone)}, hosts, {{0, {0, 0}}}, {});
}

Links route_of(const ZoneTree& tree, std::int32_t source, std::int32_t destination) {
  Links links;
  return tree.route(source, destination, kLatencies, links) < 0 ? Links{-1} : links;
}

}  // namespace

TEST("zones: a torus goes the short way round") {
  const ZoneTree tree = tree_of(std::make_shared<TorusCluster>(
      Point{}, ClusterLinks{.is_split = true}, std::vector<std::int32_t>{4, 2}));
  CHECK(tree.links_end() == 8 * 4);
  CHECK((route_of(tree, 0, 1) == Links{0}));
  CHECK((route_of(tree, 1, 0) == Links{1}));
  CHECK((route_of(tree, 0, 3) == Links{13}));
  CHECK((route_of(tree, 0, 5) == Links{0, 6}));
}

TEST("zones: a fat tree goes up as far as it has to") {
  const ZoneTree tree = tree_of(std::make_shared<FatTreeCluster>(
      Point{}, ClusterLinks{}, Links{2, 2}, Links{1, 2}, Links{1, 1}, 0));
  CHECK(tree.links_end() == 4 + 4);
  CHECK((route_of(tree, 0, 1) == Links{0, 1}));
  CHECK((route_of(tree, 0, 2) == Links{0, 4, 6, 2}));
  CHECK((route_of(tree, 0, 3) == Links{0, 5, 7, 3}));
}

TEST("zones: numbers that do not fit are refused") {
  const ClusterLinks links{.is_split = true};
  const Links large{1 << 20, 1 << 20};
  CHECK_THROWS(TorusCluster({}, links, large), std::invalid_argument, "too many");
  CHECK_THROWS(TorusCluster({}, links, Links{0}), std::invalid_argument, "at least one");
  CHECK_THROWS(FatTreeCluster({}, links, large, large, large, 0), std::invalid_argument,
               "too many");
  CHECK_THROWS(FatTreeCluster({}, links, {2}, {2}, {}, 0), std::invalid_argument, "each level");
  CHECK_THROWS(DragonflyCluster({}, links, 1, 1, 1 << 30, 8), std::invalid_argument, "too many");
  CHECK_THROWS(DragonflyCluster({}, links, 3, 1, 2, 1), std::invalid_argument, "a blade a group");
  CHECK_THROWS(FlatCluster({}, links, 1 << 30, false), std::invalid_argument, "too many");
  CHECK_THROWS(FullZone({}, 2, {0}, {2}, routes_of({{0}})), std::invalid_argument, "vertices");
  CHECK_THROWS(FullZone({}, 2, {0, 0}, {1, 1}, routes_of({{0}, {1}})), std::invalid_argument,
               "one declared route");
  CHECK_THROWS(routes_of({{-1}}), std::invalid_argument, "from 0");
  CHECK_THROWS(DeclaredRoutes({0, 2}, {1}, {}, {}), std::invalid_argument, "span");
}

TEST("zones: hosts and zones are vertices of zones") {
  const auto cluster = [](Point place) {
    return std::make_shared<FlatCluster>(place, ClusterLinks{}, 3, false);
  };
  CHECK_THROWS(ZoneTree({cluster({0, 0})}, 0, {}, {}), std::invalid_argument, "before it");
  CHECK_THROWS(ZoneTree({cluster({})}, 5, {{0, {0, 0}}}, {}), std::invalid_argument, "vertices");
  CHECK_THROWS(ZoneTree({cluster({})}, 3, {{1, {0, 0}}}, {}), std::invalid_argument, "vertices");
  CHECK_THROWS(ZoneTree({cluster({})}, 3, {{0, {1, 0}}}, {}), std::invalid_argument, "vertices");
  CHECK_THROWS(ZoneTree({cluster({})}, 1, {}, {}), std::invalid_argument, "in a zone");
}

TEST("zones: a gateway outside its zone ends the search") {
  // The route to either gateway would lead from one zone back to the other.
  Zones zones{std::make_shared<FullZone>(Point{}, 2, Links{0}, Links{1},
                                         routes_of({{0}}, {{2, 0}}, {{1, 0}}))};
  for (std::int32_t vertex = 0; vertex < 2; ++vertex) {
    zones.push_back(std::make_shared<FlatCluster>(Point{0, vertex}, ClusterLinks{}, 1, false));
  }
  const ZoneTree tree(std::move(zones), 2, {{0, {1, 0}}, {1, {2, 0}}}, {});
  CHECK((route_of(tree, 0, 1) == Links{-1}));
}

TEST("zones: threads share the shortest paths") {
  constexpr std::int32_t kHosts = 40;
  Links from, to;
  std::vector<Links> links;
  for (std::int32_t host = 0; host + 1 < kHosts; ++host) {
    from.insert(from.end(), {host, host + 1});
    to.insert(to.end(), {host + 1, host});
    links.insert(links.end(), {{host}, {host}});
  }
  Zones zones{std::make_shared<FloydZone>(Point{}, kHosts, from, to, routes_of(links)),
              std::make_shared<DijkstraZone>(Point{}, kHosts, from, to, routes_of(links))};
  const ZoneTree tree(std::move(zones), 2 * kHosts, {{0, {0, 0}}, {kHosts, {1, 0}}}, {});
  std::vector<std::thread> threads;
  std::vector<int> right(3, 0);
  for (int& count : right) {
    threads.emplace_back([&] {
      for (std::int32_t host = 0; host < 2 * kHosts; ++host) {
        const std::int32_t last = host < kHosts ? kHosts - 1 : 2 * kHosts - 1;
        Links path;
        const double latency = tree.route(host, last, kLatencies, path);
        count += host == last || latency == last - host ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK((right == std::vector<int>(3, 2 * kHosts)));
}

}  // namespace tisim
