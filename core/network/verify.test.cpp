// Corrupts the state of a network, to see `verify` object.

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/model_testing.hpp"
#include "core/test.hpp"
#include "network/network.hpp"
#include "support/invariant.hpp"

namespace tisim {

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

// Pairs of hosts over one link, some flows of each, one second after they began; then something is
// wrong.
void check_objection(const char* part, const std::function<void(Network&)>& tamper,
                     std::int32_t pairs = 3, bool changes = false) {
  PlatformData platform;
  platform.link_bandwidth = {120.0};
  platform.link_latency = {0.0};
  platform.link_fatpipe = {0};
  platform.host_group.assign(static_cast<std::size_t>(2 * pairs), -1);
  platform.host_loopback.assign(static_cast<std::size_t>(2 * pairs), -1);
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
  check_objection("pair 1: its heap has not as many flows",
                  [](Network& network) { Tampering::progress(network, 1).first_flow = -1; });
  check_objection("neither active nor pays its latency",
                  [](Network& network) { Tampering::flows(network).acquire(); });
}

TEST("network: verify objects to flows out of order") {
  check_objection("pair 0: its flows are out of the order", [](Network& network) {
    Tampering::flow(network, Tampering::progress(network, 0).first_flow).finish = 1e9;
  });
  check_objection("a flow of another pair", [](Network& network) {
    Tampering::flow(network, Tampering::progress(network, 0).first_flow).pair = 2;
  });
}

TEST("network: verify objects to ends that are not dated as the shares are") {
  check_objection("pair 2: it is not in the heap of ends",
                  [](Network& network) { Tampering::ends(network).remove(2); });
  check_objection("pair 2: its end is not that of its next flow",
                  [](Network& network) { Tampering::progress(network, 2).end += 1.0; });
  check_objection("pair 0: it is not in the heap of ends",
                  [](Network& network) { Tampering::progress(network, 0).heap_position = 1; });
}

TEST("network: verify objects to a pair that is lost") {
  check_objection("the pair of two hosts", [](Network& network) {
    Tampering::hosts_of_pair(network)[1] = Tampering::hosts_of_pair(network)[0];
  });
  check_objection(
      "a link that changes lacks a pair",
      [](Network& network) { Tampering::pairs_over(network, 0).pop_back(); }, 3, true);
}

TEST("network: verify objects to a clock ahead of the time") {
  check_objection("pair 1: its clock is ahead",
                  [](Network& network) { Tampering::progress(network, 1).clock.updated = 7.0; });
}

TEST("network: verify objects to a bottleneck whose clock is wrong") {
  check_objection(
      "the end of a bottleneck", [](Network& network) { Tampering::common(network, 0).level *= 2; },
      20);
  check_objection(
      "pair 4: it is not in the heap of its bottleneck",
      [](Network& network) { Tampering::common(network, 0).ends.remove(4); }, 20);
}

TEST("network: verify objects to shares that nothing holds back") {
  check_objection("constraint 0: its variables use",
                  [](Network& network) { Tampering::system(network).variable(0).share = 1e9; });
}

}  // namespace tisim
