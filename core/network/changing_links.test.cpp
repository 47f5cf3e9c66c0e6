#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "core/model_testing.hpp"
#include "core/test.hpp"
#include "network/network.hpp"

namespace tisim {

namespace {

struct Start {
  double date;
  std::int32_t source, destination;
  double bytes;
};

// Hosts on a shared link, each with its own link; all links may change.
class Star {
 public:
  explicit Star(std::size_t hosts) {
    model_.weight_s = 8775;
    model_.tcp_gamma = 4194304;
    model_.crosstraffic = true;
    for (std::size_t i = 0; i <= hosts; ++i) {
      data_.link_bandwidth.push_back(100.0 + 10.0 * static_cast<double>(i));
      data_.link_latency.push_back(0.0625);
      data_.link_fatpipe.push_back(0);
      data_.profiles.push_back(
          {true, static_cast<std::int32_t>(i), Quantity::bandwidth, -1.0, {0.0}, {1.0}});
    }
    data_.host_speed.assign(hosts, 1.0);
  }

  std::vector<Start> starts;
  // Bytes carried by the shared link.
  double carried = 0.0;
  // Called before any other event of an instant, at every multiple of `step` (seconds).
  double step = std::numeric_limits<double>::infinity();
  virtual void change(Network& network, double now) = 0;
  virtual ~Star() = default;

  // Returns when each flow ends, or -1 if it never does.
  std::vector<double> run() {
    Network network(model_, data_);
    network.record_load(64);
    const auto hosts = static_cast<std::int32_t>(data_.host_speed.size());
    for (std::int32_t a = 0; a < hosts; ++a) {
      for (std::int32_t b = 0; b < hosts; ++b) {
        network.add_route(a, b, {{a + 1, 0, b + 1}, 3 * 0.0625});
      }
    }
    std::multimap<double, std::int32_t> paying;
    std::vector<double> ends(starts.size(), -1.0);
    std::size_t next = 0;
    double next_change = step;
    for (double now = 0;;) {
      network.solve(now);
      network.verify(now);
      double date = network.idle() ? kNever : network.next_end();
      if (next < starts.size()) date = std::min(date, starts[next].date);
      if (!paying.empty()) date = std::min(date, paying.begin()->first);
      if (date == kNever) {
        const std::vector<double>& load = network.load().of(0);
        carried = std::accumulate(load.begin(), load.end(), 0.0);
        return ends;
      }
      now = date = std::min(date, next_change);
      if (next_change <= now) {
        change(network, now);
        next_change += step;
      }
      for (; next < starts.size() && starts[next].date <= now; ++next) {
        double latency = 0.0;
        const Start& start = starts[next];
        const std::int32_t flow =
            network.start(network.pair(start.source, start.destination), start.bytes,
                          static_cast<std::int32_t>(next), now, &latency);
        flows.push_back(flow);
        paying.emplace(now + latency, flow);
      }
      while (!paying.empty() && paying.begin()->first <= now) {
        const std::int32_t flow = paying.begin()->second;
        paying.erase(paying.begin());
        if (!network.discard(flow)) network.activate(flow, now);
      }
      Stack<std::int32_t> owners;
      network.collect_ended(now, owners);
      for (const std::int32_t owner : owners) ends[static_cast<std::size_t>(owner)] = now;
    }
  }

 protected:
  std::vector<std::int32_t> flows;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  Model model_ = test::plain_model();
  PlatformData data_;
};

class Changeless : public Star {
 public:
  using Star::Star;
  void change(Network&, double) override {}
};

// Sets the current values again.
class Pointless : public Star {
 public:
  using Star::Star;
  void change(Network& network, double) override {
    network.set_bandwidth(0, 100.0);
    network.set_latency(1, 0.0625);
    network.set_bandwidth(2, 120.0);
  }
};

// Removes the second flow.
class Impatient : public Star {
 public:
  using Star::Star;
  void change(Network& network, double now) override {
    if (!done_) network.drop(flows[1], now);
    done_ = true;
  }

 private:
  bool done_ = false;
};

class Shrinking : public Star {
 public:
  using Star::Star;
  void change(Network& network, double now) override {
    if (now == step) network.set_bandwidth(0, 25.0);
  }
};

}  // namespace

TEST("changing links: a change that changes nothing changes nothing") {
  std::mt19937 random(7);
  Changeless plain(5);
  Pointless same(5);
  double date = 0.0;
  for (int i = 0; i < 200; ++i) {
    date += static_cast<double>(random() % 100) / 64;
    const auto source = static_cast<std::int32_t>(random() % 5);
    const auto destination = static_cast<std::int32_t>(random() % 5);
    plain.starts.push_back({date, source, destination, static_cast<double>(random() % 400)});
  }
  same.starts = plain.starts;
  same.step = 0.75;
  const std::vector<double> wanted = plain.run();
  const std::vector<double> ends = same.run();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(wanted[i] > 0 && std::abs(ends[i] - wanted[i]) < 1e-9 * wanted[i]);
  }
}

TEST("changing links: a flow that is taken out leaves its share to the others") {
  for (const double when : {0.125, 1.0}) {  // while it pays its latency, and later
    Impatient star(3);
    star.starts = {{0.0, 0, 1, 200}, {0.0, 0, 1, 200}, {0.0, 0, 1, 200}};
    star.step = when;
    const std::vector<double> ends = star.run();
    CHECK(ends[1] == -1.0);
    CHECK(ends[0] == ends[2] && ends[0] < 3 * 0.0625 + 6.5);
  }
}

TEST("changing links: a link carries what its flows have moved, with those that are taken out") {
  Impatient star(3);
  star.starts = {{0.0, 0, 1, 200}, {0.0, 0, 1, 200}, {0.0, 0, 1, 200}};
  star.step = 3 * 0.0625 + 1.5;
  CHECK(star.run()[1] == -1.0);
  // A third of 100 bytes/s for 1.5 s, then all of the other two, with 5 % on the reverse route.
  CHECK(std::abs(star.carried - (50.0 + 1.05 * 400.0)) < 1e-9);
}

TEST("changing links: a link that shrinks slows what is under way") {
  Changeless plain(3);
  plain.starts = {{0.0, 0, 1, 300}};
  Shrinking star(3);
  star.starts = plain.starts;
  star.step = 1.1875;  // 1 s after the latency
  const double rest = plain.run()[0] - star.step;
  CHECK(std::abs(star.run()[0] - (star.step + 4 * rest)) < 1e-9);
}

}  // namespace tisim
