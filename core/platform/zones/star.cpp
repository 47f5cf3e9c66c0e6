#include "platform/zones/star.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tisim {

StarZone::StarZone(Point place, std::vector<VertexLinks> vertices)
    : Zone(place), vertices_(std::move(vertices)) {
  const auto see = [this](const std::vector<std::int32_t>& links) {
    for (const std::int32_t link : links) {
      if (link < 0) throw std::invalid_argument("links are numbered from 0");
      end_ = std::max(end_, std::int64_t{link} + 1);
    }
  };
  for (const VertexLinks& vertex : vertices_) {
    see(vertex.up);
    see(vertex.down);
    if (vertex.loopback) see(*vertex.loopback);
  }
}

bool StarZone::route(const RouteSearch&, std::int32_t source, std::int32_t destination,
                     LocalRoute& route) const {
  const VertexLinks& from = vertices_[static_cast<std::size_t>(source)];
  const VertexLinks& to = vertices_[static_cast<std::size_t>(destination)];
  std::vector<std::int32_t>& links = route.links;
  if (source == destination && from.loopback) {
    links.insert(links.end(), from.loopback->begin(), from.loopback->end());
    return true;
  }
  const auto begin = static_cast<std::ptrdiff_t>(links.size());
  for (const auto* way : {&from.up, &to.down}) {
    for (const std::int32_t link : *way) {
      if (std::find(links.begin() + begin, links.end(), link) == links.end()) links.push_back(link);
    }
  }
  return true;
}

}  // namespace tisim
