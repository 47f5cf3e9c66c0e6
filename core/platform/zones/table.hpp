// Zones whose routes are declared one by one: Full, Floyd and Dijkstra. Ties between paths of equal
// length are broken in SimGrid's order, which decides the route of a message.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "platform/zones/declared_routes.hpp"
#include "platform/zones/zone.hpp"
#include "support/number_index.hpp"

namespace tisim {

class TableZone : public Zone {
 public:
  // The route of each pair (`sources[i]`, `destinations[i]`), in the order of their declaration.
  TableZone(Point place, std::int32_t size, std::vector<std::int32_t> sources,
            std::vector<std::int32_t> destinations, DeclaredRoutes routes);

  std::int32_t size() const override { return size_; }
  std::int64_t links_end() const override { return routes_.links_end(); }

 protected:
  // Number of the declared route of a pair, -1: there is none.
  std::int32_t find(std::int32_t source, std::int32_t destination) const;
  DeclaredRoute declared(std::int32_t number) const {
    return routes_[static_cast<std::size_t>(number)];
  }
  std::size_t declared() const { return sources_.size(); }
  std::int32_t source(std::size_t number) const { return sources_[number]; }
  std::int32_t destination(std::size_t number) const { return destinations_[number]; }
  // Appends the route along consecutive declared routes, given from the last to the first, through
  // the zones between them. `backwards`: the links of each declared route come in reverse.
  bool join(const RouteSearch& search, const std::vector<std::int32_t>& steps, bool backwards,
            LocalRoute& route) const;

 private:
  std::int32_t size_;
  std::vector<std::int32_t> sources_, destinations_;
  DeclaredRoutes routes_;
  NumberIndex numbers_;  // of the routes, by their ends
};

// Every pair that can communicate has a declared route.
class FullZone final : public TableZone {
 public:
  using TableZone::TableZone;
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;
};

// Shortest paths by number of links, computed for all pairs when one is first asked for (Floyd,
// Warshall).
class FloydZone final : public TableZone {
 public:
  using TableZone::TableZone;
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  void compute() const;

  mutable std::once_flag computed_;
  // The vertex before each destination on the path from each source; -1: no path.
  mutable std::vector<std::int32_t> before_;
};

// Shortest paths by number of links, computed for one source when it first sends. SimGrid builds
// these routes from their end: the links of each declared route come in reverse, and before those
// of other zones on the way; latencies are added up from the end, too.
class DijkstraZone final : public TableZone {
 public:
  DijkstraZone(Point place, std::int32_t size, std::vector<std::int32_t> sources,
               std::vector<std::int32_t> destinations, DeclaredRoutes routes);

  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;
  bool prepends() const override { return true; }

 private:
  // The vertex before each vertex on the shortest path from a source, -1: there is none.
  using Tree = std::vector<std::int32_t>;

  void steps_of(std::int32_t source, std::int32_t destination,
                std::vector<std::int32_t>& steps) const;
  Tree search_from(std::int32_t source) const;

  std::vector<std::int32_t> rank_;     // of each vertex in the order in which routes name them
  std::vector<std::size_t> first_;     // place in `leaving_` of the routes from each vertex
  std::vector<std::int32_t> leaving_;  // numbers of routes
  mutable std::mutex mutex_;           // several simulations share a platform
  mutable std::unordered_map<std::int32_t, Tree> trees_;  // of the sources that have sent
};

}  // namespace tisim
