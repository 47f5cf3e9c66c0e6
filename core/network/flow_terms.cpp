#include "network/flow_terms.hpp"

#include <algorithm>

namespace tisim {

FlowTerms FlowModel::terms(const std::vector<std::int32_t>& links, double latency) const {
  FlowTerms terms{latency, latency, -1.0};
  for (const std::int32_t link : links) {
    const double bandwidth = system_.constraint(link).capacity;
    if (terms.bound < 0 || bandwidth < terms.bound) terms.bound = bandwidth;
    terms.penalty += penalty(bandwidth);
  }
  return terms;
}

// A link with zero bandwidth adds no penalty.
double FlowModel::penalty(double bandwidth) const {
  return bandwidth > 0 ? model_.weight_s / bandwidth : 0.0;
}

double FlowModel::bound(const FlowTerms& terms) const {
  if (terms.latency <= 0) return terms.bound;
  // With a gamma of 0, a flow with latency has no bound, as in SimGrid.
  const double by_latency = model_.tcp_gamma / (2.0 * terms.latency);
  if (by_latency <= 0) return -1.0;
  return terms.bound < 0 ? by_latency : std::min(terms.bound, by_latency);
}

// A flow without latency has weight 1.
void FlowModel::apply(const FlowTerms& terms, max_min::VariableType& type) const {
  type.bound = bound(terms);
  type.penalty = type.latency > 0 ? terms.penalty : 1.0;
  type.priority = 1.0 / type.penalty;
}

void FlowModel::change(const FlowTerms& terms, bool latency_changed,
                       max_min::VariableType& type) const {
  // In SimGrid, a flow without latency then takes the weight of its links.
  if ((latency_changed || model_.weight_s > 0) && terms.penalty > 0) {
    type.penalty = terms.penalty;
    type.priority = 1.0 / type.penalty;
  }
  type.bound = bound(terms);
}

}  // namespace tisim
