// Links whose bandwidth or latency changes: see ADR 15.
//
// A flow keeps the rate bound given by the bandwidths at its start. Its weight and its latency
// bound change with every link it uses, including those of the reverse route. A new flow takes all
// its terms from the current links (SimGrid 3.32, network_cm02.cpp). So at a change, the flows in
// progress of a pair move to another variable of the system, an *old* pair, and the pair itself
// starts afresh.
//
// Invariant: every pair over a changing link is registered here with the terms of its flows.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flow_terms.hpp"
#include "network/flows.hpp"
#include "platform/routes.hpp"
#include "solver/system.hpp"

namespace tisim {

class ChangingLinks {
 public:
  ChangingLinks(const PlatformData& platform, const FlowModel& model, max_min::System& system,
                Flows& flows);
  // Returns true if the profiles of a platform change any bandwidth or latency.
  static bool any(const PlatformData& platform);

  // Current extra latency of a route over the platform's value, seconds.
  double delay(const Route& route) const;
  // Registers a new pair with the links of its forward route and the initial terms of its flows.
  void add_pair(std::int32_t pair, const FlowTerms& terms, const std::vector<std::int32_t>& links);
  // Registers a pair for the flows of pair `of` that pay no latency.
  void add_unpaid_pair(std::int32_t pair, std::int32_t of);

  // Must be called before any other event of an instant.
  void set_bandwidth(std::int32_t link, double bandwidth);
  void set_latency(std::int32_t link, double latency);

  // Checks that every pair over a changing link is registered. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct NetworkTampering;  // corrupts the state to test `verify`

  // A pair over changing links.
  struct RegisteredPair {
    FlowTerms terms;
    std::vector<std::int32_t> links;  // links of the forward route
    bool is_old = false;              // whether its flows started before a change
    bool pays_latency = true;
    std::vector<std::int32_t> old;  // pairs for flows of this one that started earlier
  };
  struct Link {
    bool changes = false;
    double delay = 0.0;               // extra latency over the platform's value, seconds
    std::vector<std::int32_t> pairs;  // pairs that use it, if it changes
  };

  void register_pair(std::int32_t pair, RegisteredPair registered);
  void change_pairs(std::int32_t link, double latency, double penalty);
  std::int32_t move_to_old_pair(std::int32_t pair);
  std::int32_t old_pair(std::int32_t pair);
  void change_active_flows(std::int32_t pair, double latency, double penalty);
  void change_new_flows(std::int32_t pair, std::int32_t link, double latency);

  Link& at(std::int32_t link) { return links_[static_cast<std::size_t>(link)]; }
  RegisteredPair& registered(std::int32_t pair) {
    return registered_[static_cast<std::size_t>(pair)];
  }

  const PlatformData& platform_;
  const FlowModel& model_;
  max_min::System& system_;
  Flows& flows_;
  std::vector<Link> links_;
  std::vector<RegisteredPair> registered_;  // by pair
};

}  // namespace tisim
