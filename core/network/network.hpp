// Flows that share links max-min fairly (solver/system.hpp states the problem).
//
// All flows from one host to another have the same route and share, so they are one variable of the
// system, a *pair*, with a multiplicity. The network consists of the pairs (host_pairs.hpp),
// created from routes by the flow model (flow_terms.hpp); the flows with their virtual clocks
// (flows.hpp); changing links (changing_links.hpp); the solver, which is independent of time; and
// the optional record of link loads (load.hpp).
//
// Invariant: after `solve`, every active flow has its max-min share, and `next_end` is the date of
// the next end of a flow.
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

  // Returns the pair of two hosts, -1 if a route is unknown (see `missing_source`).
  std::int32_t pair(std::int32_t source, std::int32_t destination);
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    pairs_.add_route(source, destination, std::move(route));
  }
  std::int32_t missing_source() const { return pairs_.missing_source(); }
  std::int32_t missing_destination() const { return pairs_.missing_destination(); }

  // Starts a flow. If the returned `latency` is positive, the caller must call `activate` after it;
  // otherwise the flow is already active.
  std::int32_t start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                     double* latency);
  // Creates an inactive flow; the caller calls `activate`, not before the latency has passed.
  std::int32_t create(std::int32_t pair, double bytes, std::int32_t owner, double now,
                      double* latency);
  void activate(std::int32_t flow, double now) { flows_.activate(flow, now); }
  // Flows activated at the same date form lists (`Flows::follow`).
  void follow(std::int32_t flow, std::int32_t other) { flows_.follow(flow, other); }
  std::int32_t follower(std::int32_t flow) const { return flows_.follower(flow); }
  std::int32_t pop_front(std::int32_t flow) { return flows_.pop_front(flow); }

  // Adds the variable of hosts that move bytes in lockstep over many links: its share is at most
  // `bound` bytes/s, each link carries the given multiple of it, and its weight is that of the
  // pair.
  std::int32_t add_group(std::span<const std::pair<std::int32_t, double>> links, double bound,
                         std::int32_t pair);
  // Starts an active flow of such a variable, without the factors of messages.
  void start_group_flow(std::int32_t group, double bytes, std::int32_t owner, double now) {
    flows_.activate(flows_.create(group, bytes, owner), now);
  }

  // Recomputes the shares after all changes of an instant.
  void solve(double now) {
    flows_.set_now(now);
    solver_.solve();
  }
  bool is_solved() const { return solver_.is_solved(); }

  bool idle() const { return flows_.idle(); }
  double next_end() { return flows_.next_end(); }
  // Appends the owners of the flows that end at `now`, in starting order.
  void collect_ended(double now, Stack<std::int32_t>& owners) { flows_.collect_ended(now, owners); }

  // Changes by profiles; must precede any other event of the instant.
  void set_bandwidth(std::int32_t link, double bandwidth);
  void set_latency(std::int32_t link, double latency);
  // Removes a flow before its end, without notification.
  void drop(std::int32_t flow, double now);
  // Releases a flow dropped while it paid its latency. Returns false if it is not one.
  bool discard(std::int32_t flow);
  // Returns true if the link is on the route of a pair or, with cross-traffic, on its reverse
  // route.
  bool uses_link(std::int32_t pair, std::int32_t link) const;
  // Returns a link of the route that is in `which`, or -1.
  std::int32_t find_link(std::int32_t pair, const std::vector<bool>& which) const;
  std::int32_t pair_of(std::int32_t flow) const { return flows_.pair_of(flow); }
  std::int32_t owner_of(std::int32_t flow) const { return flows_.owner_of(flow); }
  bool is_active(std::int32_t flow) const { return flows_.is_active(flow); }
  // Appends the zero-bandwidth links that flows wait for.
  void list_starved(std::vector<std::int32_t>& links) const;

#ifdef TISIM_VERIFY
  // Solves changes in a random order.
  void draw_order(std::uint32_t seed) { solver_.draw_order(seed); }
#endif

  // Minimum number of pairs from which a component is solved only in part; tests use small values.
  void set_large(std::size_t pairs) { solver_.set_large(pairs); }

  // Starts recording the load of each link in `bins` bins, an even number.
  void record_load(std::size_t bins) { flows_.record_load(bins); }
  const TimeBins& load() { return flows_.load(); }

  // Appends the active flows, in no particular order; requires that everything is solved.
  void list_ends(double now, std::vector<FlowEnd>& ends) const { flows_.list_ends(now, ends); }
  std::size_t flows_in_progress() const { return flows_.in_progress(); }
  std::size_t solves() const { return solver_.solves(); }

  // Checks that the shares are max-min fair, no flow is lost, and heaps and clocks are consistent.
  // Throws BrokenInvariant. Requires that everything is solved.
  void verify(double now) const;

 private:
  friend struct NetworkTampering;  // corrupts the state to test `verify`

  const Model& model_;
  max_min::System system_;
  FlowModel flow_model_;
  Flows flows_;
  MaxMinSolver solver_;
  std::unique_ptr<ChangingLinks> changing_;  // null: no link changes
  std::unique_ptr<BurstLinks> bursts_;       // null: no link has a burst
  HostPairs pairs_;
};

}  // namespace tisim
