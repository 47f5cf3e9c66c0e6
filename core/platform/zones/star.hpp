// Zones in which every vertex has its own links up to a centre and down from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "platform/zones/zone.hpp"

namespace tisim {

// The links of one vertex of a star.
struct VertexLinks {
  std::vector<std::int32_t> up, down;
  std::optional<std::vector<std::int32_t>> loopback;
};

// A link that is on both the way up and the way down is used once.
class StarZone : public Zone {
 public:
  StarZone(Point place, std::vector<VertexLinks> vertices);

  std::int32_t size() const override { return static_cast<std::int32_t>(vertices_.size()); }
  std::int64_t links_end() const override { return end_; }
  bool route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
             LocalRoute& route) const override;

 private:
  std::vector<VertexLinks> vertices_;
  std::int64_t end_ = 0;
};

}  // namespace tisim
