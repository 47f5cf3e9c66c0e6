// Routes declared individually by a platform file, stored as columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "platform/zones/zone.hpp"

namespace tisim {

// A route between two vertices: its links and, between zones, its end points.
struct DeclaredRoute {
  std::span<const std::int32_t> links;
  Point begin, end;
};

class DeclaredRoutes {
 public:
  // Route i consists of the links from `offset[i]` to `offset[i + 1]`. `begin` and `end` have one
  // point per route, or are empty.
  DeclaredRoutes(std::vector<std::int64_t> offset, std::vector<std::int32_t> links,
                 std::vector<Point> begin, std::vector<Point> end)
      : offset_(std::move(offset)),
        links_(std::move(links)),
        begin_(std::move(begin)),
        end_(std::move(end)) {
    if (offset_.empty() || offset_.front() != 0 ||
        offset_.back() != static_cast<std::int64_t>(links_.size()) ||
        !std::is_sorted(offset_.begin(), offset_.end())) {
      throw std::invalid_argument("the offsets of routes do not span their links");
    }
    if (begin_.size() != end_.size() || (!begin_.empty() && begin_.size() != size())) {
      throw std::invalid_argument("each route between zones begins and ends at a point");
    }
    if (std::any_of(links_.begin(), links_.end(), [](std::int32_t link) { return link < 0; })) {
      throw std::invalid_argument("links are numbered from 0");
    }
  }

  std::size_t size() const { return offset_.size() - 1; }
  std::int64_t links_end() const {
    return links_.empty() ? 0 : std::int64_t{*std::max_element(links_.begin(), links_.end())} + 1;
  }
  DeclaredRoute operator[](std::size_t route) const {
    const auto from = static_cast<std::size_t>(offset_[route]);
    const auto to = static_cast<std::size_t>(offset_[route + 1]);
    return {{links_.data() + from, to - from},
            begin_.empty() ? Point{} : begin_[route],
            end_.empty() ? Point{} : end_[route]};
  }

 private:
  std::vector<std::int64_t> offset_;
  std::vector<std::int32_t> links_;
  std::vector<Point> begin_, end_;
};

}  // namespace tisim
