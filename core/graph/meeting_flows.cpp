#include "graph/meeting_flows.hpp"

namespace tisim {

namespace {

// Fraction of a bandwidth below which the remainder counts as zero.
constexpr double kPrecision = 1e-12;

max_min::System system_of(const std::vector<double>& links) {
  max_min::System system;
  for (const double bandwidth : links) system.add_constraint(bandwidth, false);
  return system;
}

}  // namespace

MeetingFlows::MeetingFlows(const GraphPrograms& programs)
    : programs_(programs),
      system_(system_of(programs.links)),
      flows_(system_),
      solver_(system_, kPrecision, flows_),
      variables_(programs.calls.size(), -1) {}

void MeetingFlows::start(std::int32_t meeting, std::int32_t call, double now) {
  const double bytes = programs_.calls[static_cast<std::size_t>(call)].bytes;
  flows_.activate(flows_.create(variable(call), bytes, meeting), now);
}

std::int32_t MeetingFlows::variable(std::int32_t call) {
  std::int32_t& known = variables_[static_cast<std::size_t>(call)];
  if (known < 0) {
    for (const LinkUse& use : programs_.uses_of(call)) {
      system_.add_element(use.link, use.channels);
    }
    max_min::VariableType type;
    type.bound = programs_.calls[static_cast<std::size_t>(call)].rate;
    known = system_.add_variable(type);
    flows_.add_pairs();
  }
  return known;
}

void MeetingFlows::verify(double now) const {
  solver_.verify();
  flows_.verify(now);
}

}  // namespace tisim
