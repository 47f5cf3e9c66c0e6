// Weight and rate bound of a flow, computed from the links of its route (CM02 and LV08: Velho and
// Legrand 2009, Clauss et al. 2011; SimGrid 3.32, network_cm02.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "platform/model.hpp"
#include "solver/system.hpp"

namespace tisim {

struct FlowTerms {
  double latency = 0.0;  // seconds
  double penalty = 0.0;  // seconds; 0: no weight can be derived
  double bound = -1.0;   // bytes/s, of the narrowest link at the start of the flow; negative: none
};

class FlowModel {
 public:
  FlowModel(const Model& model, const max_min::System& system) : model_(model), system_(system) {}

  // Returns the terms of flows that start now on a route with the given latency.
  FlowTerms terms(const std::vector<std::int32_t>& links, double latency) const;
  // Returns the penalty that a link adds, seconds.
  double penalty(double bandwidth) const;
  // Returns the rate bound of one flow; negative if none.
  double bound(const FlowTerms& terms) const;
  // Sets the bound and penalty of a type for new flows.
  void apply(const FlowTerms& terms, max_min::VariableType& type) const;
  // Updates the type of flows in progress after a change.
  void change(const FlowTerms& terms, bool latency_changed, max_min::VariableType& type) const;

 private:
  const Model& model_;
  const max_min::System& system_;
};

}  // namespace tisim
