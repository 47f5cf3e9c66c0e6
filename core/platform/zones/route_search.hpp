// Finds routes across zones: from the source up to a common zone, through it, and down to the
// destination (Bobelin et al., "Scalable multi-purpose network representation for large scale
// distributed system simulation", CCGrid 2012). `tisim/platform/routing.py` is its Python
// equivalent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "platform/zones/declared_routes.hpp"
#include "platform/zones/zone.hpp"

namespace tisim {

class ZoneTree;

class RouteSearch {
 public:
  // `latency_of`: latency of each link, seconds.
  RouteSearch(const ZoneTree& tree, std::span<const double> latency_of, std::int32_t above = -1)
      : tree_(tree), latency_of_(latency_of), above_(above) {}

  // Appends the links between two points and the terms of the latency. Returns false if there is no
  // route.
  bool find(Point source, Point destination, std::vector<std::int32_t>& links,
            std::vector<double>& terms) const;
  // Appends the latencies of the links from `begin` on.
  void append_terms(const std::vector<std::int32_t>& links, std::size_t begin,
                    std::vector<double>& terms) const;

 private:
  struct Common {
    std::int32_t zone, source, destination;  // the innermost around both, its children towards each
  };

  Common common_zone(std::int32_t source, std::int32_t destination) const;
  bool find_bypass(std::int32_t common, Point source, Point destination,
                   DeclaredRoute& bypass) const;
  std::vector<Point> path(std::int32_t zone, std::int32_t common) const;
  bool take_bypass(Point source, Point destination, const DeclaredRoute& bypass,
                   std::vector<std::int32_t>& links, std::vector<double>& terms) const;
  bool cross(const Common& common, Point source, Point destination,
             std::vector<std::int32_t>& links, std::vector<double>& terms) const;

  const ZoneTree& tree_;
  std::span<const double> latency_of_;
  std::int32_t above_;  // depth of the zone whose sub-route this search computes
};

}  // namespace tisim
