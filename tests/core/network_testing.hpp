// Test helpers for the network: a system of links and flows described in a few lines, its run
// through `Network`, and a brute-force run for comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model_testing.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"

namespace tisim::test {

// Flows over links. Each pair has its own two hosts, so routes can be chosen freely.
class FlowSystem {
 public:
  std::int32_t link(double capacity, bool fatpipe = false);
  // Sets the number of bytes that the link passes at once.
  void set_burst(std::int32_t link, double bytes);
  // Adds a pair of hosts with its route, and the reverse route for crosstraffic.
  std::int32_t pair(const std::vector<std::int32_t>& links, double latency = 0.0,
                    const std::vector<std::int32_t>& back = {});
  // Adds a flow and returns its number. Flows start in order of their dates.
  std::size_t flow(std::int32_t pair, double bytes, double date = 0.0);

  // Returns the time at which each flow ends, -1 if never. `recording`: also record link loads.
  std::vector<double> run(bool recording = false) const;
  // The same, recomputing every share after every event from the definition.
  std::vector<double> brute_force() const;

  std::size_t large = 0;  // minimum number of pairs of a large component; 0: default
  Model model = plain_model();

 private:
  struct Pair {
    Route forward, backward;
  };
  struct Flow {
    std::int32_t pair;
    double bytes, date;
  };
  struct Moving {
    std::size_t flow;
    double left, active, rate;  // bytes, seconds, bytes/s
  };

  const Pair& pair_of(const Moving& moving) const {
    return pairs_[static_cast<std::size_t>(flows_[moving.flow].pair)];
  }
  double penalty(const Pair& pair) const;
  double bound(const Pair& pair) const;
  double weight(const Pair& pair, std::size_t link) const;
  void share(std::vector<Moving>& moving, double now) const;

  PlatformData platform_;
  std::vector<Pair> pairs_;
  std::vector<Flow> flows_;
};

}  // namespace tisim::test
