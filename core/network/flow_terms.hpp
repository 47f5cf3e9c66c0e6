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
  double penalty = 0.0;  // seconds; 0: nothing to weigh it by
  double bound = -1.0;   // bytes/s, of the narrowest link when the flow started; negative: none
};

class FlowModel {
 public:
  FlowModel(const Model& model, const max_min::System& system) : model_(model), system_(system) {}

  // The terms of flows that start now on a route of that latency.
  FlowTerms terms(const std::vector<std::int32_t>& links, double latency) const;
  // The penalty in seconds that a link of some bandwidth adds.
  double penalty(double bandwidth) const;
  // Rate bound of one flow, negative: none.
  double bound(const FlowTerms& terms) const;
  // Gives a type the bound and the penalty of flows that start now.
  void apply(const FlowTerms& terms, max_min::VariableType& type) const;
  // Changes the type of flows under way, whose latency has changed or not.
  void change(const FlowTerms& terms, bool latency_changed, max_min::VariableType& type) const;

 private:
  const Model& model_;
  const max_min::System& system_;
};

}  // namespace tisim
