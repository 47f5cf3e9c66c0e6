// The pairs of hosts that send to each other: variables of the max-min system, made of their routes
// when they first send.
//
// The class promises: two hosts have one pair, for ever; flows of it that pay no latency have one
// more.
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
  // `changing`: null where links stay what they are.
  HostPairs(const Model& model, const PlatformData& platform, const FlowModel& flow_model,
            max_min::System& system, ChangingLinks* changing)
      : model_(model),
        routes_(platform),
        flow_model_(flow_model),
        system_(system),
        changing_(changing) {}

  // -1: a route is not known yet, that from `missing_source` to `missing_destination`.
  std::int32_t find_or_make(std::int32_t source, std::int32_t destination);
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    routes_.add(source, destination, std::move(route));
  }
  std::int32_t missing_source() const { return missing_source_; }
  std::int32_t missing_destination() const { return missing_destination_; }

  // The pair for flows of a pair whose latency is 0: these have weight 1, whatever the others have.
  std::int32_t without_latency(std::int32_t pair);

  // Throws BrokenInvariant where two hosts have two pairs, or a pair is lost.
  void verify() const;

 private:
  friend struct NetworkTampering;  // corrupts the state, to see `verify` object

  std::int32_t make(const Route& forward, const Route& backward);

  const Model& model_;
  RouteTable routes_;
  Route forward_, backward_;  // of the pair that is made; backward only with crosstraffic
  const FlowModel& flow_model_;
  max_min::System& system_;
  ChangingLinks* changing_;
  NumberIndex pair_of_hosts_;
  Stack<std::uint64_t> hosts_of_pair_;                     // of those that it finds
  std::unordered_map<std::int32_t, std::int32_t> unpaid_;  // pairs for flows without latency
  std::int32_t missing_source_ = -1, missing_destination_ = -1;
};

}  // namespace tisim
