#include "network/flows.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "resource/action_list.hpp"
#include "support/invariant.hpp"

namespace tisim {

using max_min::Share;
using max_min::Variable;

namespace {
void ensure_of(bool holds, std::int32_t pair, const char* what) {
  if (!holds) throw BrokenInvariant("pair " + std::to_string(pair) + ": " + what);
}

bool all_have_positions(std::uint32_t) { return true; }
}  // namespace

Flows::Flows(max_min::System& system)
    : system_(system), ends_(PairPositions{this}), bottleneck_ends_(BottleneckPositions{this}) {}

std::int32_t Flows::create(std::int32_t pair, double bytes, std::int32_t owner) {
  const std::int32_t index = flows_.acquire();
  Flow& flow = flows_[index];
  flow.finish = bytes;
  flow.owner = owner;
  flow.order = order_++;
  flow.pair = pair;
  ++waiting_;
  return index;
}

void Flows::activate(std::int32_t index, double now) {
  Flow& flow = flows_[index];
  const Variable& variable = system_.variable(flow.pair);
  Progress& progress = this->progress(flow.pair);
  advance(flow.pair, now);
  if (variable.count == 0) progress.clock.done = 0.0;
  const bool has_links = system_.type_of(variable).elements > 0;
  flow.finish = has_links ? progress.clock.done + flow.finish : progress.clock.done;
  heap(progress).push(index);
  --waiting_;
  system_.change_count(flow.pair, 1);
}

void Flows::date_end(std::int32_t pair, double now) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const Variable& variable = system_.variable(pair);
  Progress& progress = this->progress(pair);
  const auto id = static_cast<std::uint32_t>(pair);
  if (variable.count == 0) {
    ends_.remove(id);
    return;
  }
  const double finish = flows_[progress.first_flow].finish;
  const double end = progress.clock.date_of(finish, variable.share, now);
  if (end == kNever) {  // starved until another change helps it
    ends_.remove(id);
    return;
  }
  progress.end = end;
  // A date that moves later is corrected when it reaches the top of the heap.
  if (progress.heap_position < 0 || end < ends_.date_of(id)) ends_.update(end, id);
}

double Flows::next_end() {
  double date = std::numeric_limits<double>::infinity();
  while (!ends_.empty()) {
    date = progress_[ends_.top_id()].end;
    if (date <= ends_.top_date()) break;
    ends_.update(date, ends_.top_id());
  }
  return bottleneck_ends_.empty() ? date : std::min(date, bottleneck_ends_.top_date());
}

// Ends the next flow of the pair, and all that end with it.
void Flows::end_flows(std::int32_t pair, double now) {
  advance(pair, now);
  Progress& progress = this->progress(pair);
  PairingHeap<Flow> flows = heap(progress);
  progress.clock.done = flows.first_finish();
  const double done = progress.clock.done * (1 + tolerance::kSameProgress);
  std::int32_t gone = 0;
  take_ended(
      flows, [done](double finish) { return finish <= done; },
      [this, &gone](std::int32_t flow) {
        ended_.push_back(flow);
        ++gone;
      });
  system_.change_count(pair, -gone);
}

void Flows::collect_ended(double now, Stack<std::int32_t>& owners) {
  ended_.clear();
  const double latest = now * (1 + tolerance::kSameDate);
  collect_from_bottlenecks(now, latest);
  while (!ends_.empty() && ends_.top_date() <= latest && next_end() <= latest) {
    const auto pair = static_cast<std::int32_t>(ends_.top_id());
    ends_.pop();
    end_flows(pair, now);
  }
  if (ended_.size() > 1) {
    std::sort(ended_.begin(), ended_.end(),
              [this](std::int32_t a, std::int32_t b) { return flows_[a].order < flows_[b].order; });
  }
  for (const std::int32_t flow : ended_) {
    owners.push_back(flows_[flow].owner);
    flows_.release(flow);
  }
}

void Flows::set_shares(std::span<const Share> before) {
  for (const auto& [pair, share] : before) {
    if (system_.variable(pair).share != share) advance_alone(pair, share, now_);
    date_end(pair, now_);
  }
}

bool Flows::is_active(std::int32_t flow) const {
  std::vector<std::int32_t> active;
  PairingHeap<Flow>::list(flows_, progress(flows_[flow].pair).first_flow, active);
  return std::find(active.begin(), active.end(), flow) != active.end();
}

void Flows::list_ends(double now, std::vector<FlowEnd>& ends) const {
  std::vector<std::int32_t> flows;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const Progress& progress = progress_[i];
    if (progress.first_flow < 0) continue;
    const auto pair = static_cast<std::int32_t>(i);
    const Variable& variable = system_.variable(pair);
    flows.clear();
    PairingHeap<Flow>::list(flows_, progress.first_flow, flows);
    for (const std::int32_t flow : flows) {
      const double finish = flows_[flow].finish;
      double seconds = 0.0;
      if (variable.bottleneck < 0) {
        seconds = progress.clock.seconds_to(finish, variable.share, now);
      } else {
        const CommonClock& common = bottlenecks_[static_cast<std::size_t>(variable.bottleneck)];
        const double left = (finish - progress.clock.done) * system_.penalty(variable);
        seconds = common.clock.seconds_to(progress.clock.updated + left, common.level, now);
      }
      ends.push_back({pair, flows_[flow].owner, seconds});
    }
  }
}

void Flows::remove(std::int32_t flow, double now) {
  const std::int32_t pair = flows_[flow].pair;
  Progress& progress = this->progress(pair);
  advance_alone(pair, system_.variable(pair).share, now);
  heap(progress).remove(flow);
  flows_.release(flow);
  system_.change_count(pair, -1);
  // The next end is that of another flow; the solver updates it after this instant.
  date_end(pair, now);
}

void Flows::move_all(std::int32_t from, std::int32_t to) {
  Progress& progress = this->progress(from);
  Progress& moved = this->progress(to);
  moved.clock = progress.clock;
  moved.end = progress.end;
  moved.first_flow = progress.first_flow;
  progress.first_flow = -1;
  std::vector<std::int32_t> flows;
  PairingHeap<Flow>::list(flows_, moved.first_flow, flows);
  for (const std::int32_t flow : flows) flows_[flow].pair = to;
  if (progress.heap_position >= 0) {
    ends_.remove(static_cast<std::uint32_t>(from));
    ends_.update(moved.end, static_cast<std::uint32_t>(to));
  }
  const std::int32_t count = system_.variable(from).count;
  system_.change_count(from, -count);
  system_.change_count(to, count);
}

// Pairs that follow the level of a solver bottleneck share its clock: see ADR 21. The progress of a
// flow of such a pair is the clock's progress times the priority of the pair. The order in which
// flows end on that clock does not depend on the level.

// Advances the clock of a bottleneck.
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

// Advances the clock of a bottleneck's pair.
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
    update_member(bottleneck, pair);
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
  update_member(bottleneck, pair);
}

// Reschedules the next end of a pair whose clock is up to date.
void Flows::update_member(std::int32_t bottleneck, std::int32_t pair) {
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

// Removes flows of bottlenecks that have ended.
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

void Flows::verify(double now) const {
  ensure(progress_.size() == system_.variables(), "every variable has a clock");
  std::size_t active = 0;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const auto pair = static_cast<std::int32_t>(i);
    const std::int32_t count = verify_heap(pair);
    ensure_of(count == system_.variable(pair).count, pair,
              "its heap has as many flows as its variable");
    active += static_cast<std::size_t>(count);
    verify_end(pair, now);
  }
  ensure(active + waiting_ == flows_.in_use(), "a flow is active or pays its latency");
  ensure(ends_.is_consistent(&all_have_positions), "the ends of pairs are a heap");
  verify_bottlenecks();
}

std::int32_t Flows::verify_heap(std::int32_t pair) const {
  std::vector<std::int32_t> flows;
  PairingHeap<Flow>::list(flows_, progress(pair).first_flow, flows);
  for (const std::int32_t flow : flows) {
    ensure_of(flows_[flow].pair == pair, pair, "its heap contains only its own flows");
    for (std::int32_t child = flows_[flow].child; child >= 0; child = flows_[child].sibling) {
      ensure_of(flows_[child].finish >= flows_[flow].finish, pair,
                "its flows are a heap by their ends");
    }
  }
  return static_cast<std::int32_t>(flows.size());
}

// Checks which heap contains the pair, and with which date.
void Flows::verify_end(std::int32_t pair, double now) const {
  const max_min::Variable& variable = system_.variable(pair);
  const Progress& progress = this->progress(pair);
  const auto id = static_cast<std::uint32_t>(pair);
  if (variable.count == 0) {
    ensure_of(progress.heap_position < 0, pair, "without flows it has no end");
    return;
  }
  const double finish = flows_[progress.first_flow].finish;
  if (variable.bottleneck >= 0) {
    const CommonClock& common = bottlenecks_[static_cast<std::size_t>(variable.bottleneck)];
    ensure_of(common.ends.contains(id), pair, "it is in the heap of its bottleneck");
    ensure_of(progress.clock.updated <= common.clock.done, pair,
              "its clock is not ahead of its bottleneck's");
    return;
  }
  ensure_of(progress.clock.updated <= now, pair, "its clock is not ahead of the current date");
  const double end = progress.clock.date_of(finish, variable.share, progress.end);
  if (std::isinf(end)) {
    ensure_of(progress.heap_position < 0, pair, "with no share it has no end");
    return;
  }
  ensure_of(ends_.contains(id), pair, "it is in the heap of ends");
  ensure_of(ends_.date_of(id) <= progress.end, pair,
            "its date in the heap is a lower bound of its end");
  ensure_of(progress.end == end, pair, "its end is the end of its next flow");
  ensure_of(end >= now * (1 - tolerance::kSameDate), pair, "its end is not overdue");
}

void Flows::verify_bottlenecks() const {
  for (std::size_t i = 0; i < bottlenecks_.size(); ++i) {
    const CommonClock& common = bottlenecks_[i];
    ensure(common.ends.is_consistent(&all_have_positions),
           "the ends of a bottleneck's pairs are a heap");
    const bool dated = bottleneck_ends_.contains(static_cast<std::uint32_t>(i));
    ensure(dated == !common.ends.empty(), "a bottleneck has an end if its pairs have");
    common.ends.for_each([&](std::uint32_t pair) {
      const auto number = static_cast<std::int32_t>(i);
      ensure_of(system_.variable(static_cast<std::int32_t>(pair)).bottleneck == number,
                static_cast<std::int32_t>(pair), "it is only in the heap of its own bottleneck");
    });
    if (!dated) continue;
    const double end = bottleneck_ends_.date_of(static_cast<std::uint32_t>(i));
    ensure(end == date_of(common), "the end of a bottleneck is the first end of its pairs");
  }
  ensure(bottleneck_ends_.is_consistent(&all_have_positions), "the ends of bottlenecks are a heap");
}

}  // namespace tisim
