#include "network/network.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/model_testing.hpp"
#include "core/network_testing.hpp"
#include "core/test.hpp"
#include "network/burst_links.hpp"
#include "support/invariant.hpp"

namespace tisim {

namespace {

using test::FlowSystem;

bool same(const std::vector<double>& a, const std::vector<double>& b, double relative = 1e-12) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!test::close(a[i], b[i], relative)) {
      std::fprintf(stderr, "flow %zu ends at %.17g, not at %.17g\n", i, a[i], b[i]);
      return false;
    }
  }
  return true;
}

}  // namespace

TEST("network: a full fat pipe holds back all flows that have no bound of their own") {
  // Latencies with many digits: for some, the last bit of a bound would be below the pipe's level.
  for (int digit = 1; digit < 40; ++digit) {
    for (const bool has_own : {false, true}) {  // a shared link, which saturates with the pipe
      FlowSystem s;
      const std::int32_t pipe = s.link(100, true);
      std::vector<std::int32_t> links = {pipe};
      if (has_own) links.push_back(s.link(100));
      const double latency = 0.001 * digit / 7;
      s.flow(s.pair(links, latency), 100);
      s.flow(s.pair({pipe}, 2 * latency), 100);
      // 100 and 50 while both are active, by their weights (ADR 3); then the second gets 100.
      const double end = latency + 1.0;
      CHECK(same(s.run(), {end, end + (100.0 - 50.0 * (1.0 - latency)) / 100.0}));
    }
  }
}

TEST("network: factors depend on the size") {
  FlowSystem s;
  s.model.latency_factor.first = 2.0;
  s.model.bandwidth_factor.boundary = {100};
  s.model.bandwidth_factor.value = {0.5};
  const std::int32_t pair = s.pair({s.link(100)}, 0.25);
  s.flow(pair, 100);        // at the boundary: factor 1
  s.flow(pair, 200, 10.0);  // above it: 100 bytes/s count as 50
  CHECK(same(s.run(), {1.5, 14.5}));
}

TEST("network: a flow over no link ends when its latency is paid") {
  FlowSystem s;
  s.flow(s.pair({}, 0.5), 1e9);
  CHECK(same(s.run(), {0.5}));
}

TEST("network: an empty flow ends when its latency is paid") {
  FlowSystem s;
  const std::int32_t shared = s.link(100);
  s.flow(s.pair({shared}, 0.5), 0);
  s.flow(s.pair({shared}), 1000);
  CHECK(same(s.run(), {0.5, 10.0}));
}

TEST("network: random systems run as the definition says") {
  for (std::uint32_t seed = 0; seed < test::campaign(100, 300); ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t most) {
      return static_cast<std::uint32_t>(random() % most);
    };
    FlowSystem s;
    s.model.weight_s = below(2) == 0 ? 0.0 : 500.0;
    s.model.tcp_gamma = below(2) == 0 ? 0.0 : 200.0;
    s.model.crosstraffic = below(2) == 0;
    // No fat pipes with flows of unequal penalties: there the last bit decides (ADR 3).
    const bool fatpipes = below(2) == 0;
    const double latency = fatpipes ? 0.25 : 0.0;
    if (fatpipes) s.model.weight_s = 0.0;
    if (fatpipes) s.model.crosstraffic = false;
    std::vector<std::int32_t> links;
    const std::uint32_t link_count = 2 + below(6);
    for (std::uint32_t i = 0; i < link_count; ++i) {
      links.push_back(s.link(50.0 + below(1000), fatpipes && below(4) == 0));
    }
    const auto route = [&] {
      std::vector<std::int32_t> chosen;
      for (const std::int32_t link : links) {
        if (below(3) == 0) chosen.push_back(link);
      }
      if (chosen.empty()) chosen.push_back(links[below(static_cast<std::uint32_t>(links.size()))]);
      return chosen;
    };
    std::vector<std::int32_t> pairs;
    const bool large = below(4) == 0;
    const std::uint32_t pair_count = 1 + below(large ? 40 : 8);
    for (std::uint32_t i = 0; i < pair_count; ++i) {
      const double own = fatpipes ? latency : 0.01 * (1 + below(100));
      const std::vector<std::int32_t> forward = route();
      pairs.push_back(s.pair(forward, own, route()));
    }
    double date = 0.0;
    for (std::uint32_t i = 0; i < (large ? 100 : 30); ++i) {
      date += below(3) == 0 ? 0.0 : 0.1 * below(20);
      s.flow(pairs[below(static_cast<std::uint32_t>(pairs.size()))], 1.0 + below(1000), date);
    }
    const bool agree = same(s.run(), s.brute_force(), 1e-9);
    if (!agree) std::fprintf(stderr, "in the system of seed %u\n", seed);
    CHECK(agree);
  }
}

namespace {

// Common parts of random systems with many pairs.
class ManyPairs {
 public:
  explicit ManyPairs(std::uint32_t seed) : random_(seed) {
    system.model.weight_s = below(2) == 0 ? 0.0 : 500.0;
    system.model.tcp_gamma = below(2) == 0 ? 0.0 : 200.0;
    system.model.crosstraffic = below(2) == 0;
  }

  std::uint32_t below(std::uint32_t most) { return static_cast<std::uint32_t>(random_() % most); }
  std::vector<std::int32_t> links(std::uint32_t count, std::uint32_t least, std::uint32_t spread) {
    std::vector<std::int32_t> made(count);
    for (std::int32_t& link : made) link = system.link(least + below(spread));
    return made;
  }
  void add_pair(const std::vector<std::int32_t>& forward, const std::vector<std::int32_t>& back) {
    pairs_.push_back(system.pair(forward, 0.01 * (1 + below(100)), back));
  }
  void add_flows(std::uint32_t count) {
    double date = 0.0;
    for (std::uint32_t i = 0; i < count; ++i) {
      date += below(3) == 0 ? 0.0 : 0.01 * below(20);
      const std::uint32_t pair = below(static_cast<std::uint32_t>(pairs_.size()));
      system.flow(pairs_[pair], 1.0 + below(200), date);
    }
  }

  FlowSystem system;

 private:
  std::mt19937 random_;
  std::vector<std::int32_t> pairs_;
};

void check_definition(FlowSystem (*make)(std::uint32_t seed), std::uint32_t count) {
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const FlowSystem s = make(seed);
    const bool agree = same(s.run(), s.brute_force(), 1e-9);
    if (!agree) std::fprintf(stderr, "in the system of seed %u\n", seed);
    CHECK(agree);
  }
}

// Hosts with an outgoing and an incoming link, joined by a backbone that a few of their flows
// saturate; some flows bypass it.
FlowSystem backbone_system(std::uint32_t seed) {
  ManyPairs many(seed);
  const std::uint32_t hosts = 24;
  const std::int32_t backbone = many.system.link(100.0 * (2 + many.below(10)));
  const auto out = many.links(hosts, 100, 20), in = many.links(hosts, 100, 20);
  const std::uint32_t rare = 2 + many.below(30);  // those that bypass the backbone
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint32_t a = many.below(hosts);
    const std::uint32_t b = many.below(hosts);
    std::vector<std::int32_t> forward = {out[a], in[b]};
    std::vector<std::int32_t> backward = {out[b], in[a]};
    if (many.below(rare) != 0) {
      forward.push_back(backbone);
      backward.push_back(backbone);
    }
    many.add_pair(forward, backward);
  }
  many.add_flows(250);
  return many.system;
}

// Hosts with an outgoing link, an incoming link and a limiter for both: large components whose
// pairs are limited at many levels. In some systems many flows also cross a backbone and sometimes
// saturate it.
FlowSystem limiter_system(std::uint32_t seed) {
  ManyPairs many(seed);
  const std::uint32_t hosts = 16;
  const std::uint32_t crossing = many.below(4);
  const std::int32_t backbone = many.system.link(100.0 * (2 + many.below(8)));
  const auto out = many.links(hosts, 100, 20), in = many.links(hosts, 100, 20);
  const auto limiter = many.links(hosts, 120, 60);
  for (std::uint32_t i = 0; i < 90; ++i) {
    const std::uint32_t a = many.below(hosts);
    const std::uint32_t b = (a + 1 + many.below(hosts - 1)) % hosts;
    std::vector<std::int32_t> forward = {out[a], limiter[a], limiter[b], in[b]};
    if (many.below(4) < crossing) forward.push_back(backbone);
    many.add_pair(forward, {out[b], limiter[b], limiter[a], in[a]});
  }
  many.add_flows(250);
  return many.system;
}

// Both, solved locally around changes.
FlowSystem nearby_system(std::uint32_t seed) {
  FlowSystem system = seed % 2 == 0 ? limiter_system(seed) : backbone_system(seed);
  system.large = 8;
  return system;
}

// Hosts in a ring that send to their neighbours; all links have a similar load.
FlowSystem ring_system(std::uint32_t seed) {
  ManyPairs many(seed);
  const std::uint32_t hosts = 30;
  const auto out = many.links(hosts, 100, 3), in = many.links(hosts, 100, 3);
  for (std::uint32_t i = 0; i < 3 * hosts; ++i) {
    const std::uint32_t a = i % hosts;
    const std::uint32_t b = (a + 1 + i / hosts) % hosts;
    many.add_pair({out[a], in[b]}, {out[b], in[a]});
  }
  many.add_flows(250);
  many.system.large = 4;
  return many.system;
}

}  // namespace

TEST("network: pairs that all fill one link run as the definition says") {
  check_definition(&backbone_system, test::campaign(6, 20));
}

TEST("network: large systems of many levels run as the definition says") {
  check_definition(&limiter_system, test::campaign(3, 10));
}

TEST("network: large systems that are solved near what changes run as the definition says") {
  check_definition(&nearby_system, test::campaign(6, 20));
  check_definition(&ring_system, test::campaign(3, 10));
}

TEST("network: whoever records the load of links changes nothing") {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const FlowSystem s = backbone_system(seed);
    CHECK(s.run() == s.run(true));
  }
}

// Corrupts the state of a network to test `verify`.
struct NetworkTampering {
  static Pool<Flow>& flows(Network& network) { return network.flows_.flows_; }
  static max_min::System& system(Network& network) { return network.system_; }
  static auto& progress(Network& network, std::int32_t pair) {
    return network.flows_.progress(pair);
  }
  static auto& ends(Network& network) { return network.flows_.ends_; }
  static Flow& flow(Network& network, std::int32_t flow) { return network.flows_.flows_[flow]; }
  static auto& hosts_of_pair(Network& network) { return network.pairs_.hosts_of_pair_; }
  static auto& pairs_over(Network& network, std::int32_t link) {
    return network.changing_->at(link).pairs;
  }
  static auto& common(Network& network, std::int32_t number) {
    return network.flows_.common(number);
  }
};

namespace {

// Corrupts a network with pairs of hosts over one link and a few flows each, one second after their
// start.
void check_objection(const char* part, const std::function<void(Network&)>& tamper,
                     std::int32_t pairs = 3, bool changes = false) {
  PlatformData platform;
  platform.link_bandwidth = {120.0};
  platform.link_latency = {0.0};
  platform.link_fatpipe = {0};
  // The link changes after the test.
  platform.profiles = std::vector<ResourceProfile>(
      changes ? 1 : 0, {true, 0, Quantity::bandwidth, -1.0, {9.0}, {1.0}});
  const Model model = test::plain_model();
  Network network(model, platform);
  for (std::int32_t i = 0; i < pairs; ++i) {
    network.add_route(2 * i, 2 * i + 1, {{0}, 0.0});
    network.add_route(2 * i + 1, 2 * i, {{0}, 0.0});
    double latency = 0.0;
    for (int flow = 0; flow < 2; ++flow) {
      network.start(network.pair(2 * i, 2 * i + 1), 1000.0 * (flow + 1), i, 0.0, &latency);
    }
  }
  network.solve(1.0);
  network.verify(1.0);
  tamper(network);
  std::string caught = "nothing";
  try {
    network.verify(1.0);
  } catch (const BrokenInvariant& error) {
    caught = error.what();
  }
  const bool as_said = caught.find(part) != std::string::npos;
  if (!as_said) std::fprintf(stderr, "caught: %s, not: %s\n", caught.c_str(), part);
  CHECK(as_said);
}

using Tampering = NetworkTampering;

}  // namespace

TEST("network: verify objects to a flow that is lost") {
  check_objection("pair 1: its heap has as many flows",
                  [](Network& network) { Tampering::progress(network, 1).first_flow = -1; });
  check_objection("a flow is active or pays its latency",
                  [](Network& network) { Tampering::flows(network).acquire(); });
}

TEST("network: verify objects to flows out of order") {
  check_objection("pair 0: its flows are a heap", [](Network& network) {
    Tampering::flow(network, Tampering::progress(network, 0).first_flow).finish = 1e9;
  });
  check_objection("pair 0: its heap contains only its own flows", [](Network& network) {
    Tampering::flow(network, Tampering::progress(network, 0).first_flow).pair = 2;
  });
}

TEST("network: verify objects to ends that are not dated as the shares are") {
  check_objection("pair 2: it is in the heap of ends",
                  [](Network& network) { Tampering::ends(network).remove(2); });
  check_objection("pair 2: its end is the end of its next flow",
                  [](Network& network) { Tampering::progress(network, 2).end += 1.0; });
  check_objection("pair 0: it is in the heap of ends",
                  [](Network& network) { Tampering::progress(network, 0).heap_position = 1; });
}

TEST("network: verify objects to a pair that is lost") {
  check_objection("the pair of two hosts", [](Network& network) {
    Tampering::hosts_of_pair(network)[1] = Tampering::hosts_of_pair(network)[0];
  });
  check_objection(
      "a changing link lists all of its pairs",
      [](Network& network) { Tampering::pairs_over(network, 0).pop_back(); }, 3, true);
}

TEST("network: verify objects to a clock ahead of the time") {
  check_objection("pair 1: its clock is not ahead",
                  [](Network& network) { Tampering::progress(network, 1).clock.updated = 7.0; });
}

TEST("network: verify objects to a bottleneck whose clock is wrong") {
  check_objection(
      "the end of a bottleneck", [](Network& network) { Tampering::common(network, 0).level *= 2; },
      20);
  check_objection(
      "pair 4: it is in the heap of its bottleneck",
      [](Network& network) { Tampering::common(network, 0).ends.remove(4); }, 20);
}

TEST("network: verify objects to shares that nothing holds back") {
  check_objection("constraint 0: its variables use",
                  [](Network& network) { Tampering::system(network).variable(0).share = 1e9; });
}

namespace {

using test::FlowSystem;

bool ends_are(const std::vector<double>& ends, const std::vector<double>& expected) {
  return std::equal(ends.begin(), ends.end(), expected.begin(), expected.end(),
                    [](double a, double b) { return test::close(a, b, 1e-12); });
}

}  // namespace

TEST("bursts: a burst passes at once, and the rest at the bandwidth") {
  FlowSystem s;
  const std::int32_t link = s.link(100);
  s.set_burst(link, 300);
  const std::int32_t pair = s.pair({link});
  s.flow(pair, 200);        // 300 tokens: all bytes pass at once
  s.flow(pair, 200);        // 100 tokens are left; the other 100 bytes take a second
  s.flow(pair, 500, 10.0);  // the bucket is full again: 200 bytes take two seconds
  CHECK(ends_are(s.run(), {0.0, 1.0, 12.0}));
}

TEST("bursts: a stream does not exceed the bandwidth, however its messages are cut") {
  FlowSystem s;
  const std::int32_t link = s.link(100);
  s.set_burst(link, 300);
  const std::int32_t pair = s.pair({link});
  for (int i = 0; i < 50; ++i) s.flow(pair, 40, 0.1 * i);  // 2,000 bytes in 5 seconds
  const std::vector<double> ends = s.run();
  CHECK(test::close(*std::max_element(ends.begin(), ends.end()), (2000.0 - 300.0) / 100.0, 1e-9));
}

TEST("bursts: a bucket refills while messages alternate") {
  FlowSystem s;
  const std::int32_t link = s.link(100);
  s.set_burst(link, 1000);
  const std::int32_t pair = s.pair({link});
  // As many bytes as the link carries between messages: all pass at once.
  for (int i = 0; i < 100; ++i) s.flow(pair, 50, 0.5 * i);
  const std::vector<double> ends = s.run();
  for (std::size_t i = 0; i < ends.size(); ++i)
    CHECK(test::close(ends[i], 0.5 * static_cast<double>(i), 1e-9));
}

TEST("bursts: what one link passes at once waits for the others") {
  FlowSystem s;
  const std::int32_t quick = s.link(100);
  const std::int32_t plain = s.link(50);
  s.set_burst(quick, 1000);
  s.flow(s.pair({quick, plain}), 500);
  CHECK(ends_are(s.run(), {10.0}));
}

}  // namespace tisim
