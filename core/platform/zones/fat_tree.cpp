#include "platform/zones/fat_tree.hpp"

#include <algorithm>
#include <cstddef>

namespace tisim {

FatTreeCluster::FatTreeCluster(Point place, ClusterLinks links,
                               const std::vector<std::int32_t>& children,
                               const std::vector<std::int32_t>& parents,
                               const std::vector<std::int32_t>& ports, std::int32_t hosts_before)
    : Cluster(place, links), hosts_before_(hosts_before) {
  const std::size_t count = children.size();
  if (count == 0 || parents.size() != count || ports.size() != count || hosts_before < 0) {
    throw std::invalid_argument("a fat tree has children, parents and ports for each level");
  }
  for (const auto* row : {&children, &parents, &ports}) {
    if (*std::min_element(row->begin(), row->end()) < 1) {
      throw std::invalid_argument("a level of a fat tree has at least one of everything");
    }
  }
  for (const std::int32_t number : children) hosts_ = counted(std::int64_t{hosts_} * number);
  // The limiters of the switches come first, level by level, then the cables.
  std::int32_t nodes = hosts_;
  std::int32_t limiter = counted(links.first + std::int64_t{hosts_} * links.own());
  Level level{.leaves = 1, .siblings = 1, .first_limiter = links.first, .first_cable = 0};
  std::vector<std::int32_t> cables;
  for (std::size_t i = 0; i < count; ++i) {
    level.children = children[i];
    level.parents = parents[i];
    level.ports = ports[i];
    level.fan = counted(std::int64_t{parents[i]} * ports[i]);
    cables.push_back(counted(std::int64_t{nodes} * level.fan));
    levels_.push_back(level);
    nodes = counted(std::int64_t{nodes / children[i]} * parents[i]);
    level.leaves *= children[i];
    level.siblings = counted(std::int64_t{level.siblings} * parents[i]);
    level.first_limiter = limiter;
    if (links.limiter) limiter = counted(std::int64_t{limiter} + nodes);
  }
  levels_.push_back(
      {.leaves = level.leaves, .siblings = level.siblings, .first_limiter = level.first_limiter});
  end_ = limiter;
  for (std::size_t i = 0; i < count; ++i) {
    levels_[i].first_cable = end_;
    end_ = counted(end_ + std::int64_t{cables[i]} * links.wires());
  }
}

std::int32_t FatTreeCluster::limiter_of(std::size_t level, std::int32_t position) const {
  const std::int32_t first = levels_[level].first_limiter;
  return level > 0 ? first + position
                   : first + position * numbers().own() + numbers().limiter_column();
}

std::int32_t FatTreeCluster::cable(const Level& level, std::int32_t child,
                                   std::int32_t parent_digit, std::int32_t port) const {
  const std::int32_t row = child * level.fan + parent_digit * level.ports + port;
  return level.first_cable + row * numbers().wires();
}

bool FatTreeCluster::route(const RouteSearch&, std::int32_t source, std::int32_t destination,
                           LocalRoute& route) const {
  if (source == destination && numbers().loopback) {
    route.links.push_back(numbers().first + source * numbers().own());
    return true;
  }
  std::size_t level = 0;
  const std::int32_t top = climb(source, destination, route, level);
  descend(top, source, destination, route, level);
  if (numbers().limiter) route.links.push_back(limiter_of(0, destination));
  return true;
}

std::int32_t FatTreeCluster::climb(std::int32_t source, std::int32_t destination, LocalRoute& route,
                                   std::size_t& level) const {
  std::int32_t position = source;
  std::int64_t spread = destination + hosts_before_;
  do {
    const Level& here = levels_[level];
    if (numbers().limiter) route.links.push_back(limiter_of(level, position));
    const auto choice = static_cast<std::int32_t>(spread % here.fan);
    const std::int32_t parent_digit = choice % here.parents;
    route.links.push_back(cable(here, position, parent_digit, choice / here.parents));
    const std::int32_t low = position % here.siblings;
    const std::int32_t high = position / here.siblings / here.children;
    position = low + here.siblings * (parent_digit + here.parents * high);
    spread /= here.parents;
    ++level;
  } while (source / levels_[level].leaves != destination / levels_[level].leaves);
  return position;
}

void FatTreeCluster::descend(std::int32_t position, std::int32_t source, std::int32_t destination,
                             LocalRoute& route, std::size_t level) const {
  const std::int64_t spread = source + hosts_before_;
  std::int64_t candidate = 0;
  bool fresh = true;
  while (level > 0) {
    const Level& below = levels_[level - 1];
    const std::int32_t goal = destination / below.leaves % below.children;
    if (fresh) candidate = spread % below.ports * below.children;
    // The next port to the destination's child, if one is left.
    candidate += ((goal - candidate) % below.children + below.children) % below.children;
    fresh = candidate >= std::int64_t{below.children} * below.ports;
    if (fresh) continue;
    const std::int32_t limiter = numbers().limiter ? limiter_of(level, position) : -1;
    const std::int32_t low = position % below.siblings;
    const std::int32_t parent_digit = position / below.siblings % below.parents;
    const std::int32_t high = position / below.siblings / below.parents;
    position = low + below.siblings * (goal + below.children * high);
    const auto port = static_cast<std::int32_t>(candidate / below.children);
    route.links.push_back(cable(below, position, parent_digit, port) + numbers().wires() - 1);
    if (limiter >= 0) route.links.push_back(limiter);
    --level;
    ++candidate;
  }
}

}  // namespace tisim
