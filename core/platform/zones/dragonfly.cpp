#include "platform/zones/dragonfly.hpp"

#include <algorithm>

namespace tisim {

namespace {

std::int64_t pairs_of(std::int64_t count) { return count * (count - 1) / 2; }

// Number of the unordered pair {a, b} of 0..count-1, in lexicographic order.
std::int32_t pair_number(std::int32_t a, std::int32_t b, std::int32_t count) {
  const std::int64_t low = std::min(a, b), high = std::max(a, b);
  return static_cast<std::int32_t>(low * (2 * count - low - 1) / 2 + high - low - 1);
}

}  // namespace

DragonflyCluster::DragonflyCluster(Point place, ClusterLinks links, std::int32_t groups,
                                   std::int32_t chassis, std::int32_t blades, std::int32_t nodes)
    : Cluster(place, links), groups_(groups), chassis_(chassis), blades_(blades), nodes_(nodes) {
  if (groups < 1 || chassis < 1 || blades < groups || nodes < 1) {
    throw std::invalid_argument("a dragonfly has at least one of everything, and a blade a group");
  }
  const std::int64_t routers =
      counted(counted(std::int64_t{groups} * chassis) * std::int64_t{blades});
  hosts_ = counted(routers * nodes);
  first_limiter_ = counted(links.first + std::int64_t{hosts_} * links.own());
  end_ = counted(first_limiter_ + (links.limiter ? routers : 0));
  // A chassis has at most 2^31 blades, a group at most 2^31 chassis: no product overflows.
  const std::array<std::int64_t, 4> cables{
      hosts_, counted(pairs_of(blades)) * std::int64_t{groups} * chassis,
      counted(pairs_of(chassis)) * std::int64_t{groups} * blades, pairs_of(groups)};
  for (std::size_t level = 0; level < cables.size(); ++level) {
    first_cable_[level] = end_;
    end_ = counted(end_ + std::int64_t{counted(cables[level])} * links.wires());
  }
}

bool DragonflyCluster::route(const RouteSearch&, std::int32_t source, std::int32_t destination,
                             LocalRoute& route) const {
  const std::int32_t first = numbers().first, own = numbers().own();
  if (source == destination && numbers().loopback) {
    route.links.push_back(first + source * own);
    return true;
  }
  const std::int32_t limiter = first + numbers().limiter_column();
  const Blade goal = blade_of(destination);
  if (numbers().limiter) route.links.push_back(limiter + source * own);
  route.links.push_back(cable(local, source, 0, 1));
  travel(blade_of(source), goal, route);
  append_limiter(goal, route);
  route.links.push_back(cable(local, destination, 1, 0));
  if (numbers().limiter) route.links.push_back(limiter + destination * own);
  return true;
}

void DragonflyCluster::travel(Blade from, Blade to, LocalRoute& route) const {
  if (from == to) return;
  if (from.group != to.group) {
    if (from.blade != to.group) {
      append_green(from, to.group, route);
      from.blade = to.group;
    }
    if (from.chassis != 0) {
      append_black(from, 0, route);
      from.chassis = 0;
    }
    const std::int32_t pair = pair_number(from.group, to.group, groups_);
    route.links.push_back(cable(blue, pair, from.group, to.group));
    append_limiter(from, route);
    from = {to.group, from.chassis, from.group};
  }
  if (from.blade != to.blade) {
    append_green(from, to.blade, route);
    // SimGrid continues from the first chassis, wherever this is: a message within another chassis
    // takes one black cable more than necessary.
    from.chassis = 0;
    from.blade = to.blade;
  }
  if (from.chassis != to.chassis) append_black(from, to.chassis, route);
}

DragonflyCluster::Blade DragonflyCluster::blade_of(std::int32_t host) const {
  const std::int32_t router = host / nodes_, chassis = router / blades_;
  return {chassis / chassis_, chassis % chassis_, router % blades_};
}

void DragonflyCluster::append_limiter(Blade blade, LocalRoute& route) const {
  if (!numbers().limiter) return;
  const std::int32_t router = (blade.group * chassis_ + blade.chassis) * blades_ + blade.blade;
  route.links.push_back(first_limiter_ + router);
}

std::int32_t DragonflyCluster::cable(Cables level, std::int32_t row, std::int32_t from,
                                     std::int32_t to) const {
  const std::int32_t first = first_cable_[level] + row * numbers().wires();
  return first + (to < from ? numbers().wires() - 1 : 0);
}

void DragonflyCluster::append_green(Blade from, std::int32_t to, LocalRoute& route) const {
  append_limiter(from, route);
  const auto pairs = static_cast<std::int32_t>(pairs_of(blades_));
  const std::int32_t pair = (from.group * chassis_ + from.chassis) * pairs;
  const std::int32_t row = pair + pair_number(from.blade, to, blades_);
  route.links.push_back(cable(green, row, from.blade, to));
}

void DragonflyCluster::append_black(Blade from, std::int32_t to, LocalRoute& route) const {
  append_limiter(from, route);
  const auto pairs = static_cast<std::int32_t>(pairs_of(chassis_));
  const std::int32_t pair = from.group * pairs + pair_number(from.chassis, to, chassis_);
  route.links.push_back(cable(black, pair * blades_ + from.blade, from.chassis, to));
}

}  // namespace tisim
