#include "graph/meeting_flows.hpp"

#include <utility>

namespace tisim {

namespace {

// The part of a bandwidth below which nothing is left of it.
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
      solver_(system_, kPrecision, flows_) {}

void MeetingFlows::start(std::int32_t meeting, std::int32_t call, double now) {
  const double bytes = programs_.calls[static_cast<std::size_t>(call)].bytes;
  flows_.activate(flows_.create(variable(meeting, call), bytes, meeting), now);
}

std::int32_t MeetingFlows::variable(std::int32_t meeting, std::int32_t call) {
  const std::int64_t key =
      std::int64_t{meeting} * static_cast<std::int64_t>(programs_.calls.size()) + call;
  const auto [found, is_new] = variables_.try_emplace(key, -1);
  if (is_new) {
    const MeetingCall& made = programs_.calls[static_cast<std::size_t>(call)];
    for (const LinkUse& use : programs_.uses_of(meeting)) {
      const double channels = made.channels[static_cast<std::size_t>(use.kind)] * use.times;
      if (channels > 0) system_.add_element(use.link, channels);
    }
    max_min::VariableType type;
    type.bound = made.rate;
    found->second = system_.add_variable(type);
    flows_.add_pairs();
  }
  return found->second;
}

void MeetingFlows::verify(double now) const {
  solver_.verify();
  flows_.verify(now);
}

}  // namespace tisim
