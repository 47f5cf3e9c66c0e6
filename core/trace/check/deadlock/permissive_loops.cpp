// The loops of a permissive run: ranks are held at their turns, and repetitions left out.
#include <algorithm>
#include <limits>

#include "support/mixing.hpp"
#include "trace/check/deadlock/permissive_run.hpp"

namespace tisim {

namespace {

constexpr int kMostMisses = 64;  // then nothing is held any more

}  // namespace

// Whether the rank stays at the turn.
bool PermissiveRun::hold(std::int32_t rank, LoopTurn turn) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  const bool is_first = !state.in_loop;
  state.in_loop = turn.left > 0;
  if (is_first) ++state.loops;
  if (is_first || !state.in_loop || misses_ > kMostMisses) return false;
  state.left = turn.left;
  state.held = true;
  held_.push_back(rank);
  return true;
}

// Lets all ranks go on that are held. Nobody else can.
void PermissiveRun::release() {
  const std::uint64_t signature = this->signature();
  if (has_signature_ && signature == signature_) {
    std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
    const auto state_of = [&](std::int32_t rank) -> RankState& {
      return ranks_[static_cast<std::size_t>(rank)];
    };
    for (const std::int32_t rank : held_) left = std::min(left, state_of(rank).left);
    for (const std::int32_t rank : held_) state_of(rank).walk->skip_repetitions(left);
    has_signature_ = false;
    misses_ = 0;
  } else {
    has_signature_ = true;
    signature_ = signature;
    ++misses_;
  }
  for (const std::int32_t rank : held_) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    state.held = false;
    state.queued = true;
    ready_.push_back(rank);
  }
  held_.clear();
}

// A hash of everything that decides about what comes, but for the repetitions that are left.
// Collectives and requests have no absolute numbers in it.
std::uint64_t PermissiveRun::signature() const {
  std::uint64_t hash = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankState& state = ranks_[rank];
    hash = mixed(hash, state.held ? signature_of(state) : state.steps);
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (const OpenCollective& open : groups_[group].open) {
      hash = mixed(hash, group);
      hash = mixed(hash, static_cast<std::uint64_t>(open.entered) * 2 + (open.has_root ? 1 : 0));
    }
  }
  std::uint64_t of_channels = 0;  // a table has no order
  for (const auto& [channel, messages] : channels_) {
    const std::uint64_t waiting = mixed(mixed(messages.surplus, 1), messages.receives.size());
    of_channels += mixed(ChannelHash()(channel), waiting);
  }
  return mixed(hash, of_channels);
}

std::uint64_t PermissiveRun::signature_of(const RankState& state) const {
  std::uint64_t hash = state.loops;
  const auto mix = [&hash](auto value) { hash = mixed(hash, static_cast<std::uint64_t>(value)); };
  mix(state.walk->signature());
  mix(state.arrived - state.completed);
  for (const Request& request : state.requests) {
    mix(request.source);
    mix(request.destination);
    mix(request.tag);
    mix(request.from);
    mix((request.is_receive ? 4 : 0) + (request.is_any ? 2 : 0) + (request.done ? 1 : 0) +
        8 * request.comm);
  }
  for (const auto& [group, entered] : state.entered) {
    mix(group);
    mix(entered - groups_[group].first);
  }
  // Of numbers, those that name a request.
  std::uint64_t of_numbers = 0;
  for (const auto& [number, serial] : state.numbers) {
    const auto found =
        std::ranges::find(state.requests, serial, [](const Request& r) { return r.serial; });
    if (found == state.requests.end()) continue;
    of_numbers += mixed(mixed(static_cast<std::uint32_t>(number), 1),
                        static_cast<std::uint64_t>(found - state.requests.begin()));
  }
  mix(of_numbers);
  return hash;
}

}  // namespace tisim
