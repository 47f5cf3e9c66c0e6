// Links whose bandwidth or latency changes: see ADR 15.
//
// A flow keeps the bound of the bandwidths that it started with, and its weight and the bound of
// its latency move by what every link changes that it loads, on the way back too; a new flow
// takes all from the links as they are (SimGrid 3.32, network_cm02.cpp). So the flows of a pair
// that are under way when something changes become those of another variable of the system, an
// *old* pair, and the pair itself starts anew.
//
// The class promises: it knows every pair over a link that changes, with the terms of its flows.
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
  // True if the profiles of a platform change some bandwidth or latency.
  static bool any(const PlatformData& platform);

  // Seconds that the links of a route take more than the platform says.
  double delay(const Route& route) const;
  // A new pair, the links of the way there and what its flows start with.
  void add_pair(std::int32_t pair, const FlowTerms& terms, const std::vector<std::int32_t>& links);
  // A pair for flows of another one that pay no latency.
  void add_unpaid_pair(std::int32_t pair, std::int32_t of);

  // Before anything else of an instant.
  void set_bandwidth(std::int32_t link, double bandwidth);
  void set_latency(std::int32_t link, double latency);

  // Throws BrokenInvariant where a pair over a link that changes is not known.
  void verify() const;

 private:
  friend struct NetworkTampering;  // corrupts the state, to see `verify` object

  // A pair over links that change.
  struct Course {
    FlowTerms terms;
    std::vector<std::int32_t> links;  // of the way there
    bool is_old = false;              // its flows began before something changed
    bool pays_latency = true;
    std::vector<std::int32_t> old;  // pairs for the flows of this one that began earlier
  };
  struct Link {
    bool changes = false;
    double delay = 0.0;               // seconds more than the platform says
    std::vector<std::int32_t> pairs;  // that lead over it, if it changes
  };

  void enlist(std::int32_t pair, Course course);
  void change_pairs(std::int32_t link, double latency, double penalty);
  std::int32_t set_aside(std::int32_t pair);
  std::int32_t old_pair(std::int32_t pair);
  void change_flows_under_way(std::int32_t pair, double latency, double penalty);
  void change_flows_to_come(std::int32_t pair, std::int32_t link, double latency);

  Link& at(std::int32_t link) { return links_[static_cast<std::size_t>(link)]; }
  Course& course(std::int32_t pair) { return courses_[static_cast<std::size_t>(pair)]; }

  const PlatformData& platform_;
  const FlowModel& model_;
  max_min::System& system_;
  Flows& flows_;
  std::vector<Link> links_;
  std::vector<Course> courses_;  // of each pair
};

}  // namespace tisim
