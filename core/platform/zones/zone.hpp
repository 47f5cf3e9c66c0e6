// A part of the platform with a routing of its own. `tisim/platform/zones` states each kind of zone
// in Python, for replays without a core; tests hold both together.
#pragma once

#include <cstdint>
#include <vector>

namespace tisim {

class RouteSearch;

// A host, router or zone: the zone that holds it and its number in there.
struct Point {
  std::int32_t zone = -1;  // -1: there is none
  std::int32_t vertex = -1;

  bool operator==(const Point&) const = default;
};

// The part of a route that lies in one zone. A zone appends to both vectors.
struct LocalRoute {
  std::vector<std::int32_t>& links;  // in the order in which a message takes them
  // The terms that add up to the latency, in seconds and in the order of SimGrid's addition, which
  // decides the last bit. Where a zone appends none, the terms are the latencies of its links in
  // their order.
  std::vector<double>& terms;
  Point begin{}, end{};  // between zones: in those of the source and of the destination
};

class Zone {
 public:
  // `place`: the zone as a vertex of its parent.
  explicit Zone(Point place) : place_(place) {}
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  virtual ~Zone() = default;

  // Hosts, routers and zones right in this one are numbered from 0.
  virtual std::int32_t size() const = 0;
  // All its links have smaller numbers.
  virtual std::int64_t links_end() const { return 0; }
  // Appends the route between two vertices; `search` finds ways inside other zones. False: there is
  // none, and what was appended means nothing.
  virtual bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
                     LocalRoute& route) const = 0;
  // True if routes inside this zone are put before the links of the way so far.
  virtual bool prepends() const { return false; }

  Point place() const { return place_; }

 private:
  Point place_;
};

// Has no routing of its own in the core, or none at all: whoever asked asks Python.
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
