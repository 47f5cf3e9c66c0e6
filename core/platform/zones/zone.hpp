// A part of the platform with its own routing. `tisim/platform/zones` implements each kind of zone
// in Python, for replays without the core; tests compare the two.
#pragma once

#include <cstdint>
#include <vector>

namespace tisim {

class RouteSearch;

// A host, router or zone: the zone that contains it and its number there.
struct Point {
  std::int32_t zone = -1;  // -1: none
  std::int32_t vertex = -1;

  bool operator==(const Point&) const = default;
};

// The part of a route within one zone. A zone appends to both vectors.
struct LocalRoute {
  std::vector<std::int32_t>& links;  // in the order of traversal
  // The terms of the latency, in seconds and in the order of SimGrid's addition, which determines
  // the last bit. If a zone appends none, the terms are the latencies of its links in order.
  std::vector<double>& terms;
  Point begin{}, end{};  // between zones: in the zones of the source and the destination
};

class Zone {
 public:
  // `place`: the zone as a vertex of its parent.
  explicit Zone(Point place) : place_(place) {}
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  virtual ~Zone() = default;

  // Number of hosts, routers and zones directly in this one, numbered from 0.
  virtual std::int32_t size() const = 0;
  // All its links have smaller numbers than this.
  virtual std::int64_t links_end() const { return 0; }
  // Appends the route between two vertices; `search` finds routes inside other zones. Returns false
  // if there is none; the appended parts are then meaningless.
  virtual bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
                     LocalRoute& route) const = 0;
  // Returns true if routes inside this zone precede the links collected so far.
  virtual bool prepends() const { return false; }

  Point place() const { return place_; }

 private:
  Point place_;
};

// A zone without routing in the core, or without any: the caller asks Python.
class UnroutedZone final : public Zone {
 public:
  UnroutedZone(Point place, std::int32_t size) : Zone(place), size_(size) {}

  std::int32_t size() const override { return size_; }
  bool route(const RouteSearch&, std::int32_t, std::int32_t, LocalRoute&) const override {
    return false;
  }

 private:
  std::int32_t size_;
};

}  // namespace tisim
