// Zones with individually declared routes: Full, Floyd and Dijkstra. Ties between paths of equal
// length are broken in SimGrid's order, which determines the routes of messages.
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
  // `routes`: for each pair (`sources[i]`, `destinations[i]`), in order of declaration.
  TableZone(Point place, std::int32_t size, std::vector<std::int32_t> sources,
            std::vector<std::int32_t> destinations, DeclaredRoutes routes);

  std::int32_t size() const override { return size_; }
  std::int64_t links_end() const override { return routes_.links_end(); }

 protected:
  // Returns the number of the declared route of a pair, or -1.
  std::int32_t find(std::int32_t source, std::int32_t destination) const;
  DeclaredRoute declared(std::int32_t number) const {
    return routes_[static_cast<std::size_t>(number)];
  }
  std::size_t declared() const { return sources_.size(); }
  std::int32_t source(std::size_t number) const { return sources_[number]; }
  std::int32_t destination(std::size_t number) const { return destinations_[number]; }
  // Appends the route along consecutive declared routes, given from last to first, and through the
  // zones between them. `backwards`: the links of each declared route are reversed.
  bool join(const RouteSearch& search, const std::vector<std::int32_t>& steps, bool backwards,
            LocalRoute& route) const;

 private:
  std::int32_t size_;
  std::vector<std::int32_t> sources_, destinations_;
  DeclaredRoutes routes_;
  NumberIndex numbers_;  // finds routes by their end points
};

// Every communicating pair has a declared route.
class FullZone final : public TableZone {
 public:
  using TableZone::TableZone;
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;
};

// Shortest paths by number of links, computed for all pairs on first use (Floyd-Warshall).
class FloydZone final : public TableZone {
 public:
  using TableZone::TableZone;
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  void compute() const;

  mutable std::once_flag computed_;
  // The predecessor of each destination on the path from each source; -1: no path.
  mutable std::vector<std::int32_t> before_;
};

// Shortest paths by number of links, computed for a source on its first send. SimGrid builds these
// routes from their end: the links of each declared route are reversed and precede those of other
// zones on the route; latencies are summed from the end, too.
class DijkstraZone final : public TableZone {
 public:
  DijkstraZone(Point place, std::int32_t size, std::vector<std::int32_t> sources,
               std::vector<std::int32_t> destinations, DeclaredRoutes routes);

  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;
  bool prepends() const override { return true; }

 private:
  // The predecessor of each vertex on the shortest path from a source; -1: none.
  using Tree = std::vector<std::int32_t>;

  void steps_of(std::int32_t source, std::int32_t destination,
                std::vector<std::int32_t>& steps) const;
  Tree search_from(std::int32_t source) const;

  std::vector<std::int32_t> rank_;     // rank of each vertex by first mention in the routes
  std::vector<std::size_t> first_;     // index in `leaving_` of each vertex's first route
  std::vector<std::int32_t> leaving_;  // route numbers, grouped by source
  mutable std::mutex mutex_;           // several simulations may share a platform
  mutable std::unordered_map<std::int32_t, Tree> trees_;  // by source, computed on demand
};

}  // namespace tisim
