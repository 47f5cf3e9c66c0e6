// Flows that share links max-min fairly (solver/system.hpp states the problem).
//
// All flows from one host to another take the same route and get the same share, so they are one
// variable of the system, a *pair*, with a multiplicity. The parts of the network are the pairs
// (host_pairs.hpp), made of routes by the model of flows (flow_terms.hpp); the flows with their
// virtual clocks (flows.hpp); links that change (changing_links.hpp); the solver, which knows
// nothing of time; and the load of links, for those who ask (load.hpp).
//
// The class promises: after `solve`, every active flow moves at its max-min share, and `next_end`
// is the date of the next end of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "network/burst_links.hpp"
#include "network/changing_links.hpp"
#include "network/flow_terms.hpp"
#include "network/flows.hpp"
#include "network/host_pairs.hpp"
#include "network/load.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"
#include "solver/max_min_solver.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim {

class Network {
 public:
  Network(const Model& model, const PlatformData& platform);

  // The pair of two hosts, -1 when a route is not known yet (see `missing_source`).
  std::int32_t pair(std::int32_t source, std::int32_t destination);
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    pairs_.add_route(source, destination, std::move(route));
  }
  std::int32_t missing_source() const { return pairs_.missing_source(); }
  std::int32_t missing_destination() const { return pairs_.missing_destination(); }

  // A new flow. Where `latency` comes back positive, the caller calls `activate` that much later;
  // otherwise the flow is active already.
  std::int32_t start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                     double* latency);
  // A new flow that is not active: the caller calls `activate`, not before the latency is over.
  std::int32_t create(std::int32_t pair, double bytes, std::int32_t owner, double now,
                      double* latency);
  void activate(std::int32_t flow, double now) { flows_.activate(flow, now); }
  // Flows that are activated at one date form lists (`Flows::follow`).
  void follow(std::int32_t flow, std::int32_t other) { flows_.follow(flow, other); }
  std::int32_t follower(std::int32_t flow) const { return flows_.follower(flow); }
  std::int32_t leave_front(std::int32_t flow) { return flows_.leave_front(flow); }

  // The variable of hosts that move bytes in step over many links: its share is bytes/s at most
  // `bound`, of which it takes so many times as much on each link, and weighs as that of the pair.
  std::int32_t add_group(std::span<const std::pair<std::int32_t, double>> links, double bound,
                         std::int32_t pair);
  // An active flow of such a variable, without the factors of messages.
  void start_in_step(std::int32_t group, double bytes, std::int32_t owner, double now) {
    flows_.activate(flows_.create(group, bytes, owner), now);
  }

  // Share the links anew after all changes of an instant.
  void solve(double now) {
    flows_.set_now(now);
    solver_.solve();
  }
  bool is_solved() const { return solver_.is_solved(); }

  bool idle() const { return flows_.idle(); }
  double next_end() { return flows_.next_end(); }
  // Appends the owners of the flows that end at `now`, in the order in which they started.
  void collect_ended(double now, Stack<std::int32_t>& owners) { flows_.collect_ended(now, owners); }

  // Changes by profiles, before anything else of the instant.
  void set_bandwidth(std::int32_t link, double bandwidth);
  void set_latency(std::int32_t link, double latency);
  // Takes a flow out before it has ended; nobody is told.
  void drop(std::int32_t flow, double now);
  // A flow that was taken out while it paid its latency: true, and it is gone.
  bool discard(std::int32_t flow);
  // True if the link is on the route of a pair or, with crosstraffic, on its reverse route.
  bool leads_over(std::int32_t pair, std::int32_t link) const;
  // A link on the way that is one of `which`, -1: none.
  std::int32_t find_on_way(std::int32_t pair, const std::vector<bool>& which) const;
  std::int32_t pair_of(std::int32_t flow) const { return flows_.pair_of(flow); }
  std::int32_t owner_of(std::int32_t flow) const { return flows_.owner_of(flow); }
  bool is_active(std::int32_t flow) const { return flows_.is_active(flow); }
  // Appends the links without bandwidth that flows wait for.
  void list_starving(std::vector<std::int32_t>& links) const;

#ifdef TISIM_VERIFY
  // Changes are solved for in a random order.
  void draw_order(std::uint32_t seed) { solver_.draw_order(seed); }
#endif

  // From how many pairs on a component is not solved whole; tests have small ones.
  void set_large(std::size_t pairs) { solver_.set_large(pairs); }

  // Notes what each link carries from now on, in that many bins, an even number.
  void record_load(std::size_t bins) { flows_.record_load(bins); }
  const TimeBins& load() { return flows_.load(); }

  // Appends the active flows, in no particular order; to be called when everything is solved.
  void list_ends(double now, std::vector<FlowEnd>& ends) const { flows_.list_ends(now, ends); }
  std::size_t flows_in_progress() const { return flows_.in_progress(); }
  std::size_t solves() const { return solver_.solves(); }

  // Throws BrokenInvariant where the shares are not max-min, a flow is lost, or a heap or clock is
  // inconsistent. To be called when everything is solved.
  void verify(double now) const;

 private:
  friend struct NetworkTampering;  // corrupts the state, to see `verify` object

  const Model& model_;
  max_min::System system_;
  FlowModel flow_model_;
  Flows flows_;
  MaxMinSolver solver_;
  std::unique_ptr<ChangingLinks> changing_;  // null: links stay what they are
  std::unique_ptr<BurstLinks> bursts_;       // null: no link has a burst
  HostPairs pairs_;
};

}  // namespace tisim
