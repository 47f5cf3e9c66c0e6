#include "core/network_testing.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "network/network.hpp"

namespace tisim::test {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kCrosstraffic = 0.05;

bool holds(const std::vector<std::int32_t>& links, std::size_t link) {
  return std::find(links.begin(), links.end(), static_cast<std::int32_t>(link)) != links.end();
}
}  // namespace

std::int32_t FlowSystem::link(double capacity, bool fatpipe) {
  platform_.link_bandwidth.push_back(capacity);
  platform_.link_latency.push_back(0.0);
  platform_.link_fatpipe.push_back(fatpipe ? 1 : 0);
  platform_.link_burst.push_back(0.0);
  return static_cast<std::int32_t>(platform_.link_bandwidth.size()) - 1;
}

void FlowSystem::set_burst(std::int32_t link, double bytes) {
  platform_.link_burst[static_cast<std::size_t>(link)] = bytes;
}

std::int32_t FlowSystem::pair(const std::vector<std::int32_t>& links, double latency,
                              const std::vector<std::int32_t>& back) {
  pairs_.push_back({Route{links, latency}, Route{back, latency}});
  for (int end = 0; end < 2; ++end) {
    platform_.host_speed.push_back(1.0);
    platform_.host_cores.push_back(1);
  }
  return static_cast<std::int32_t>(pairs_.size()) - 1;
}

std::size_t FlowSystem::flow(std::int32_t pair, double bytes, double date) {
  flows_.push_back({pair, bytes, date});
  return flows_.size() - 1;
}

std::vector<double> FlowSystem::run(bool recording) const {
  Network network(model, platform_);
  if (recording) network.record_load(16);
  if (large > 0) network.set_large(large);
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const auto source = static_cast<std::int32_t>(2 * i);
    network.add_route(source, source + 1, pairs_[i].forward);
    network.add_route(source + 1, source, pairs_[i].backward);
    numbers.push_back(network.pair(source, source + 1));
  }
  using Latency = std::pair<double, std::int32_t>;
  std::priority_queue<Latency, std::vector<Latency>, std::greater<>> latencies;
  std::vector<double> ends(flows_.size(), -1.0);
  Stack<std::int32_t> owners;
  for (std::size_t next = 0;;) {
    double now = next < flows_.size() ? flows_[next].date : kNever;
    if (!latencies.empty()) now = std::min(now, latencies.top().first);
    if (!network.idle()) now = std::min(now, network.next_end());
    if (now == kNever) return ends;
    owners.clear();
    if (!network.idle()) network.collect_ended(now, owners);
    for (const std::int32_t owner : owners) ends[static_cast<std::size_t>(owner)] = now;
    for (; !latencies.empty() && latencies.top().first <= now; latencies.pop()) {
      network.activate(latencies.top().second, now);
    }
    for (; next < flows_.size() && flows_[next].date <= now; ++next) {
      double latency = 0.0;
      const std::int32_t pair = numbers[static_cast<std::size_t>(flows_[next].pair)];
      const std::int32_t flow =
          network.start(pair, flows_[next].bytes, static_cast<std::int32_t>(next), now, &latency);
      if (latency > 0) latencies.emplace(now + latency, flow);
    }
    network.solve(now);
    network.verify(now);
  }
}

// Clauss et al. 2011: the weight of a flow is 1 / (latency + time of `weight_s` bytes).
double FlowSystem::penalty(const Pair& pair) const {
  if (pair.forward.latency <= 0) return 1.0;
  double seconds = pair.forward.latency;
  for (const std::int32_t link : pair.forward.links) {
    seconds += model.weight_s / platform_.link_bandwidth[static_cast<std::size_t>(link)];
  }
  return seconds;
}

double FlowSystem::bound(const Pair& pair) const {
  double least = kNever;
  for (const std::int32_t link : pair.forward.links) {
    least = std::min(least, platform_.link_bandwidth[static_cast<std::size_t>(link)]);
  }
  if (pair.forward.latency <= 0) return least;
  return model.tcp_gamma > 0 ? std::min(least, model.tcp_gamma / (2 * pair.forward.latency))
                             : kNever;
}

double FlowSystem::weight(const Pair& pair, std::size_t link) const {
  double weight = holds(pair.forward.links, link) ? 1.0 : 0.0;
  if (model.crosstraffic && holds(pair.backward.links, link)) {
    weight = platform_.link_fatpipe[link] != 0 ? std::max(weight, kCrosstraffic)
                                               : weight + kCrosstraffic;
  }
  return weight;
}

// Progressive filling by definition: all rates grow as level / penalty until one reaches its bound
// or a link is full; the affected rates are then fixed.
void FlowSystem::share(std::vector<Moving>& moving, double now) const {
  std::vector<Moving*> open;
  for (Moving& m : moving) {
    m.rate = 0.0;
    if (m.active <= now) open.push_back(&m);
  }
  std::vector<Moving*> fixed;
  while (!open.empty()) {
    double level = kNever;
    std::size_t full = platform_.link_bandwidth.size();
    for (std::size_t link = 0; link < platform_.link_bandwidth.size(); ++link) {
      const bool fatpipe = platform_.link_fatpipe[link] != 0;
      double room = platform_.link_bandwidth[link];
      double usage = 0.0;
      for (const Moving* m : fixed) {
        if (!fatpipe) room -= m->rate * weight(pair_of(*m), link);
      }
      for (const Moving* m : open) {
        const double one = weight(pair_of(*m), link) / penalty(pair_of(*m));
        usage = fatpipe ? std::max(usage, one) : usage + one;
      }
      if (usage > 0 && std::max(room, 0.0) / usage < level) {
        level = std::max(room, 0.0) / usage;
        full = link;
      }
    }
    const double by_links = level;
    for (const Moving* m : open) level = std::min(level, bound(pair_of(*m)) * penalty(pair_of(*m)));
    std::vector<Moving*> rest;
    for (Moving* m : open) {
      const Pair& pair = pair_of(*m);
      const bool bounded = bound(pair) * penalty(pair) <= level;
      const bool stopped = level == by_links && weight(pair, full) > 0;
      m->rate = bounded ? bound(pair) : level / penalty(pair);
      (bounded || stopped ? fixed : rest).push_back(m);
    }
    open = std::move(rest);
  }
}

std::vector<double> FlowSystem::brute_force() const {
  std::vector<double> ends(flows_.size(), -1.0);
  std::vector<Moving> moving;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const double latency = pairs_[static_cast<std::size_t>(flows_[i].pair)].forward.latency;
    moving.push_back({i, flows_[i].bytes, flows_[i].date + latency, 0.0});
  }
  for (double now = 0.0; !moving.empty();) {
    share(moving, now);
    double next = kNever;
    for (const Moving& m : moving) {
      if (m.active > now) next = std::min(next, m.active);
      if (m.rate > 0) next = std::min(next, now + m.left / m.rate);
    }
    if (next == kNever) break;
    std::vector<Moving> rest;
    for (Moving m : moving) {
      const bool ends_now = m.rate > 0 && now + m.left / m.rate <= next * (1 + 1e-14);
      m.left -= m.rate * (next - now);
      if (ends_now) {
        ends[m.flow] = next;
      } else {
        rest.push_back(m);
      }
    }
    moving = std::move(rest);
    now = next;
  }
  return ends;
}

}  // namespace tisim::test
