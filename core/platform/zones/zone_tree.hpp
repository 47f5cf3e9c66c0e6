// The zones of a platform, and the positions of its hosts in them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "platform/zones/declared_routes.hpp"
#include "platform/zones/zone.hpp"

namespace tisim {

// A range of hosts that are consecutive vertices of a zone.
struct HostRun {
  std::int32_t first = 0;  // host
  Point point;             // position of the first host
};

// Routes declared by a zone to override its routing, between its own vertices or zones at any depth
// inside it.
struct Bypasses {
  std::int32_t zone = 0;
  std::vector<Point> sources, destinations;
  DeclaredRoutes routes;
};

class ZoneTree {
 public:
  // Outer zones precede inner ones; a parent's number is that in `place()`.
  ZoneTree(std::vector<std::shared_ptr<const Zone>> zones, std::int32_t hosts,
           std::vector<HostRun> runs, std::vector<Bypasses> bypasses);
  ZoneTree(const ZoneTree&) = delete;
  ZoneTree& operator=(const ZoneTree&) = delete;

  std::int32_t hosts() const { return hosts_; }
  std::int64_t links_end() const { return links_end_; }

  const Zone& zone(std::int32_t number) const { return *zones_[static_cast<std::size_t>(number)]; }
  std::int32_t depth(std::int32_t zone) const { return depth_[static_cast<std::size_t>(zone)]; }
  std::int32_t parent(std::int32_t zone) const { return this->zone(zone).place().zone; }
  bool has(Point point) const {
    return point.zone >= 0 && static_cast<std::size_t>(point.zone) < zones_.size() &&
           point.vertex >= 0 && point.vertex < zone(point.zone).size();
  }
  Point point_of(std::int32_t host) const;

  bool has_bypasses(std::int32_t zone) const {
    return !bypasses_.empty() && bypassed_[static_cast<std::size_t>(zone)];
  }
  // Returns false if the zone declares none between the two.
  bool find_bypass(std::int32_t zone, Point source, Point destination, DeclaredRoute& bypass) const;

  // Finds the route between two hosts: stores its links in `links` and returns its latency in
  // seconds, or -1 if there is none. `latency_of`: latency of each link.
  double route(std::int32_t source, std::int32_t destination, std::span<const double> latency_of,
               std::vector<std::int32_t>& links) const;

 private:
  using BypassKey = std::array<std::int32_t, 5>;
  static BypassKey key(std::int32_t zone, Point source, Point destination) {
    return {zone, source.zone, source.vertex, destination.zone, destination.vertex};
  }

  std::vector<std::shared_ptr<const Zone>> zones_;
  std::vector<std::int32_t> depth_;
  std::int32_t hosts_;
  std::vector<HostRun> runs_;
  std::vector<Bypasses> declared_;
  std::map<BypassKey, DeclaredRoute> bypasses_;
  std::vector<bool> bypassed_;  // zones with bypasses
  std::int64_t links_end_ = 0;
};

}  // namespace tisim
