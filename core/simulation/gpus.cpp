#include "simulation/gpus.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace tisim {

namespace {

constexpr double kNeverNext = std::numeric_limits<double>::infinity();

}  // namespace

Gpus::Gpus(GraphPrograms programs, std::vector<std::pair<std::int32_t, std::int32_t>> like,
           bool logs, const Runtime& runtime, Network& network, Activities& activities)
    : graph_(std::move(programs), logs),
      like_(std::move(like)),
      runtime_(runtime),
      network_(network),
      activities_(activities),
      variables_(graph_.programs().calls.size(), -1),
      next_(kNeverNext) {
  if (like_.size() != graph_.programs().parties.size())
    throw std::invalid_argument("each meeting is like messages between two hosts");
  graph_.drive_externally();
}

void Gpus::launch(std::int32_t rank, std::int32_t block, std::int32_t times) {
  follow([&] { graph_.launch(rank, block, times, runtime_.clock.now()); });
}

bool Gpus::end(std::int32_t activity) {
  const auto entry = under_way_.find(activity);
  if (entry == under_way_.end()) return false;
  const std::int32_t meeting = entry->second;
  under_way_.erase(entry);
  double date = runtime_.clock.now();
  if (meeting == kDate) {
    if (activity != next_activity_) return true;  // superseded by an earlier date
    // Dates closer than the clock's precision are the same instant.
    date = std::max(date, next_);
    next_ = kNeverNext;
    next_activity_ = kNoActivity;
  }
  follow([&] {
    if (meeting == kDate) {
      graph_.advance(date);
    } else {
      graph_.end_meeting(meeting, date);
    }
  });
  return true;
}

// Advances the graph, then forwards the effects to the network and the ranks.
template <class Act>
void Gpus::follow(Act act) {
  try {
    act();
  } catch (const GraphMismatch& wrong) {
    if (!mismatch_) mismatch_ = {wrong.nodes[0], wrong.nodes[1]};
  }
  for (const auto& [meeting, call] : graph_.take_moving()) start(meeting, call);
  const double now = runtime_.clock.now();
  for (const auto& [rank, date] : graph_.take_launched()) {
    if (date > now) {
      runtime_.clock.sleep(date - now, rank);
    } else {
      runtime_.clock.wake(rank);
    }
  }
  if (graph_.next_date() < next_) {
    next_ = graph_.next_date();
    next_activity_ = activities_.wait_until(next_);
    under_way_.emplace(next_activity_, kDate);
  }
}

void Gpus::start(std::int32_t meeting, std::int32_t call) {
  const std::int32_t activity = activities_.reserve();
  under_way_.emplace(activity, meeting);
  const double bytes = graph_.programs().calls[static_cast<std::size_t>(call)].bytes;
  network_.start_group_flow(variable(meeting, call), bytes, ~activity, runtime_.clock.now());
}

std::int32_t Gpus::variable(std::int32_t meeting, std::int32_t call) {
  const GraphPrograms& programs = graph_.programs();
  std::int32_t& known = variables_[static_cast<std::size_t>(call)];
  if (known < 0) {
    std::vector<std::pair<std::int32_t, double>> loads;
    for (const LinkUse& use : programs.uses_of(call)) loads.emplace_back(use.link, use.channels);
    const auto [source, destination] = like_[static_cast<std::size_t>(meeting)];
    known = network_.add_group(loads, programs.calls[static_cast<std::size_t>(call)].rate,
                               network_.pair(source, destination));
  }
  return known;
}

}  // namespace tisim
