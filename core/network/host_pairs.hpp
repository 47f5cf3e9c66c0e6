// The pairs of communicating hosts: variables of the max-min system, created from their routes on
// first use.
//
// Invariant: each ordered pair of hosts has one permanent variable, plus at most one for flows
// without latency.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "network/changing_links.hpp"
#include "network/flow_terms.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"
#include "solver/system.hpp"
#include "support/number_index.hpp"
#include "support/stack.hpp"

namespace tisim {

class HostPairs {
 public:
  // `changing`: null if no link changes.
  HostPairs(const Model& model, const PlatformData& platform, const FlowModel& flow_model,
            max_min::System& system, ChangingLinks* changing)
      : model_(model),
        routes_(platform),
        flow_model_(flow_model),
        system_(system),
        changing_(changing) {}

  // Returns -1 if the route from `missing_source` to `missing_destination` is unknown.
  std::int32_t find_or_make(std::int32_t source, std::int32_t destination);
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    routes_.add(source, destination, std::move(route));
  }
  std::int32_t missing_source() const { return missing_source_; }
  std::int32_t missing_destination() const { return missing_destination_; }

  // Returns the pair for flows without latency: these have weight 1.
  std::int32_t without_latency(std::int32_t pair);

  // Checks that pairs are unique and none is lost. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct NetworkTampering;  // corrupts the state to test `verify`

  std::int32_t make(const Route& forward, const Route& backward);

  const Model& model_;
  RouteTable routes_;
  Route forward_, backward_;  // routes of the pair being made; backward only with cross-traffic
  const FlowModel& flow_model_;
  max_min::System& system_;
  ChangingLinks* changing_;
  NumberIndex pair_of_hosts_;
  Stack<std::uint64_t> hosts_of_pair_;                     // key of each pair in the index
  std::unordered_map<std::int32_t, std::int32_t> unpaid_;  // pairs for flows without latency
  std::int32_t missing_source_ = -1, missing_destination_ = -1;
};

}  // namespace tisim
