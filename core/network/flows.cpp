#include "network/flows.hpp"

#include <algorithm>

#include "resource/action_list.hpp"

namespace tisim {

using max_min::Share;
using max_min::Variable;

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
  if (end == kNever) {  // starved: some other change must help it
    ends_.remove(id);
    return;
  }
  progress.end = end;
  // A date that moves away is corrected when it comes up.
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

// The flow of the pair that ends next, and all that end with it.
void Flows::end_flows(std::int32_t pair, double now) {
  advance(pair, now);
  Progress& progress = this->progress(pair);
  PairingHeap<Flow> flows = heap(progress);
  progress.clock.done = flows.first_finish();
  const double done = progress.clock.done * (1 + tolerance::kSameDate);
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
  // The next end is another flow's; what it is after this instant is seen to by the solver.
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

}  // namespace tisim
