// Whether no flow is lost, and heaps and clocks agree with the shares.

#include <cmath>
#include <string>

#include "network/flows.hpp"
#include "support/invariant.hpp"

namespace tisim {

namespace {
void ensure_of(bool holds, std::int32_t pair, const char* what) {
  if (!holds) throw BrokenInvariant("pair " + std::to_string(pair) + ": " + what);
}

bool all_have_positions(std::uint32_t) { return true; }
}  // namespace

void Flows::verify(double now) const {
  ensure(progress_.size() == system_.variables(), "a variable has no clock");
  std::size_t active = 0;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const auto pair = static_cast<std::int32_t>(i);
    const std::int32_t count = verify_heap(pair);
    ensure_of(count == system_.variable(pair).count, pair,
              "its heap has not as many flows as the solver knows of");
    active += static_cast<std::size_t>(count);
    verify_end(pair, now);
  }
  ensure(active + waiting_ == flows_.in_use(), "a flow is neither active nor pays its latency");
  ensure(ends_.is_consistent(&all_have_positions), "the ends of pairs are out of order");
  verify_bottlenecks();
}

std::int32_t Flows::verify_heap(std::int32_t pair) const {
  std::vector<std::int32_t> flows;
  PairingHeap<Flow>::list(flows_, progress(pair).first_flow, flows);
  for (const std::int32_t flow : flows) {
    ensure_of(flows_[flow].pair == pair, pair, "its heap has a flow of another pair");
    for (std::int32_t child = flows_[flow].child; child >= 0; child = flows_[child].sibling) {
      ensure_of(flows_[child].finish >= flows_[flow].finish, pair,
                "its flows are out of the order of their ends");
    }
  }
  return static_cast<std::int32_t>(flows.size());
}

// In which heap the pair is, and under which date.
void Flows::verify_end(std::int32_t pair, double now) const {
  const max_min::Variable& variable = system_.variable(pair);
  const Progress& progress = this->progress(pair);
  const auto id = static_cast<std::uint32_t>(pair);
  if (variable.count == 0) {
    ensure_of(progress.heap_position < 0, pair, "it has no flows, and an end of one");
    return;
  }
  const double finish = flows_[progress.first_flow].finish;
  if (variable.bottleneck >= 0) {
    const CommonClock& common = bottlenecks_[static_cast<std::size_t>(variable.bottleneck)];
    ensure_of(common.ends.contains(id), pair, "it is not in the heap of its bottleneck");
    ensure_of(progress.clock.updated <= common.clock.done, pair,
              "its clock is ahead of that of its bottleneck");
    return;
  }
  ensure_of(progress.clock.updated <= now, pair, "its clock is ahead of the time");
  const double end = progress.clock.date_of(finish, variable.share, progress.end);
  if (std::isinf(end)) {
    ensure_of(progress.heap_position < 0, pair, "it gets nothing, and an end is dated");
    return;
  }
  ensure_of(ends_.contains(id), pair, "it is not in the heap of ends");
  ensure_of(ends_.date_of(id) <= progress.end, pair, "the heap has its end too late");
  ensure_of(progress.end == end, pair, "its end is not that of its next flow");
  ensure_of(end >= now * (1 - tolerance::kSameDate), pair, "its end has been missed");
}

void Flows::verify_bottlenecks() const {
  for (std::size_t i = 0; i < bottlenecks_.size(); ++i) {
    const CommonClock& common = bottlenecks_[i];
    ensure(common.ends.is_consistent(&all_have_positions),
           "the ends of pairs of a bottleneck are out of order");
    const bool dated = bottleneck_ends_.contains(static_cast<std::uint32_t>(i));
    ensure(dated == !common.ends.empty(), "a bottleneck is not dated as its pairs are");
    common.ends.for_each([&](std::uint32_t pair) {
      const auto number = static_cast<std::int32_t>(i);
      ensure_of(system_.variable(static_cast<std::int32_t>(pair)).bottleneck == number,
                static_cast<std::int32_t>(pair), "it is in the heap of another bottleneck");
    });
    if (!dated) continue;
    const double end = bottleneck_ends_.date_of(static_cast<std::uint32_t>(i));
    ensure(end == date_of(common), "the end of a bottleneck is not that of its pairs");
  }
  ensure(bottleneck_ends_.is_consistent(&all_have_positions),
         "the ends of bottlenecks are out of order");
}

}  // namespace tisim
