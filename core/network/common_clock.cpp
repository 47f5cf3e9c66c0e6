// Pairs that follow the level of a bottleneck of the solver share its clock: see ADR 17.
//
// What a flow of a pair has moved is what that clock counts times the pair's priority. The order in
// which flows end on it does not change with the level.

#include <algorithm>

#include "network/flows.hpp"

namespace tisim {

using max_min::Share;

// Moves the clock of a bottleneck on.
void Flows::advance_common(CommonClock& common, double now) {
  if (load_) {
    common.ends.for_each([&](std::uint32_t id) {
      const auto pair = static_cast<std::int32_t>(id);
      const double share = common.level * system_.priority(system_.variable(pair));
      load_->charge(pair, share, common.clock.updated, now);
    });
  }
  common.clock.advance(common.level, now);
}

// Moves the clock of a pair of a bottleneck on.
void Flows::advance_with_others(std::int32_t pair, double now) {
  const max_min::Variable& variable = system_.variable(pair);
  CommonClock& common = this->common(variable.bottleneck);
  advance_common(common, now);
  progress(pair).clock.advance(system_.priority(variable), common.clock.done);
}

double Flows::date_of(const CommonClock& common) {
  const double left = std::max(common.ends.top_date() - common.clock.done, 0.0);
  return common.clock.updated + left / common.level;
}

void Flows::form(std::int32_t bottleneck, std::span<const Share> before, double level) {
  while (bottlenecks_.size() <= static_cast<std::size_t>(bottleneck)) {
    bottlenecks_.emplace_back(PairPositions{this});
  }
  CommonClock& common = this->common(bottleneck);
  common.clock.restart(now_);
  for (const auto& [pair, share] : before) {
    advance_alone(pair, share, now_);
    ends_.remove(static_cast<std::uint32_t>(pair));
    progress(pair).clock.updated = common.clock.done;
    recount(bottleneck, pair);
  }
  common.level = level;
  bottleneck_ends_.update(date_of(common), static_cast<std::uint32_t>(bottleneck));
}

void Flows::set_level(std::int32_t bottleneck, double level) {
  CommonClock& common = this->common(bottleneck);
  advance_common(common, now_);
  common.level = level;
  bottleneck_ends_.update(date_of(common), static_cast<std::uint32_t>(bottleneck));
}

void Flows::join(std::int32_t bottleneck, std::int32_t pair) {
  CommonClock& common = this->common(bottleneck);
  advance_common(common, now_);
  progress(pair).clock.updated = common.clock.done;
  recount(bottleneck, pair);
}

// The clock of the pair is right; another flow of it may be the next to end.
void Flows::recount(std::int32_t bottleneck, std::int32_t pair) {
  const Progress& progress = this->progress(pair);
  const double left = std::max(flows_[progress.first_flow].finish - progress.clock.done, 0.0);
  const double penalty = system_.penalty(system_.variable(pair));
  common(bottleneck)
      .ends.update(progress.clock.updated + left * penalty, static_cast<std::uint32_t>(pair));
}

void Flows::remove_member(std::int32_t, std::int32_t pair) { progress(pair).clock.updated = now_; }

void Flows::dissolve(std::int32_t bottleneck, Stack<std::int32_t>& members) {
  CommonClock& common = this->common(bottleneck);
  bottleneck_ends_.remove(static_cast<std::uint32_t>(bottleneck));
  advance_common(common, now_);
  common.ends.for_each(
      [&](std::uint32_t pair) { members.push_back(static_cast<std::int32_t>(pair)); });
  common.ends.clear();
}

void Flows::leave(std::int32_t bottleneck, std::int32_t pair) {
  const CommonClock& common = this->common(bottleneck);
  VirtualClock& clock = progress(pair).clock;
  clock.advance(system_.priority(system_.variable(pair)), common.clock.done);
  clock.updated = common.clock.updated;
}

// Takes out the flows of bottlenecks that end.
void Flows::collect_from_bottlenecks(double now, double latest) {
  while (!bottleneck_ends_.empty() && bottleneck_ends_.top_date() <= latest) {
    const auto number = static_cast<std::int32_t>(bottleneck_ends_.top_id());
    CommonClock& common = this->common(number);
    const auto pair = static_cast<std::int32_t>(common.ends.top_id());
    advance_common(common, now);
    common.ends.pop();
    end_flows(pair, now);
    if (common.ends.empty()) {
      bottleneck_ends_.pop();
    } else {
      bottleneck_ends_.update(date_of(common), bottleneck_ends_.top_id());
    }
  }
}

}  // namespace tisim
