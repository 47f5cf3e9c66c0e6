#include "trace/check/permissive_run.hpp"

#include <algorithm>
#include <limits>

#include "support/mixing.hpp"
#include "trace/check/open_windows.hpp"

namespace tisim {

namespace {

constexpr std::size_t kTurn = 4096;            // operations of a rank before the next one's turn
constexpr std::size_t kAllBatches = 1U << 20;  // operations in the buffers of all ranks
constexpr std::size_t kManyRanks = 1U << 17;   // their readers save memory
constexpr std::int32_t kWalksBetweenReports = 1024;
constexpr std::uint64_t kTurnsBetweenReports = 64;
constexpr std::int32_t kMaxRequests = 1 << 16;  // of a rank that never waits for all of them

// Tags that no message in a trace has.
constexpr std::int32_t kPosted = -2;  // of a win_post
constexpr std::int32_t kCompleted = -3;
constexpr std::int32_t kNeighbours = -4;

bool is_positive(double count) { return count > 0; }

}  // namespace

PermissiveRun::PermissiveRun(const TraceSet& set, const Communicators& communicators, Loops loops,
                             const Progress& progress)
    : set_(&set),
      communicators_(&communicators),
      progress_(&progress),
      ranks_(static_cast<std::size_t>(set.ranks())),
      groups_(communicators.groups()),
      loops_(loops) {}

bool PermissiveRun::run() {
  const std::size_t batch = std::clamp<std::size_t>(kAllBatches / ranks_.size(), 4, 1024);
  const std::shared_ptr<CallTable> calls = RankWalk::shared_calls(*set_);
  for (std::int32_t rank = 0; rank < set_->ranks(); ++rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    state.walk = std::make_unique<RankWalk>(*set_, *communicators_, rank, nullptr, batch, calls);
    if (loops_ == Loops::by_repetition) state.walk->stop_at_loops();
    if (ranks_.size() > kManyRanks) state.walk->save_memory();
    state.queued = true;
    ready_.push_back(rank);
    if (rank % kWalksBetweenReports == 0) report_progress(*progress_, 1.0);
  }
  for (execute(); is_supported_ && !held_.empty(); execute()) release();
  return is_supported_;
}

void PermissiveRun::execute() {
  std::uint64_t turns = 0;
  while (!ready_.empty() && is_supported_) {
    const std::int32_t rank = ready_.front();
    ready_.pop_front();
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    state.queued = false;
    if (!state.held) advance(rank);
    // The trace has been read to its end before; this only asks for Ctrl-C.
    if (++turns % kTurnsBetweenReports == 0) report_progress(*progress_, 1.0);
  }
}

// Ranks that can continue go first, to keep few messages in flight.
void PermissiveRun::wake(std::int32_t rank) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.queued || state.over || state.held) return;
  state.queued = true;
  ready_.push_front(rank);
}

void PermissiveRun::advance(std::int32_t rank) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; is_supported_; ++i) {
    if (state.wait != Wait::none && !try_finish_wait(state)) return;
    state.wait = Wait::none;
    if (state.ending) {
      state.over = true;
      return;
    }
    if (i == kTurn) {
      state.queued = true;
      ready_.push_back(rank);
      return;
    }
    while (const auto turn = state.walk->turn()) {
      if (hold(rank, *turn)) return;
    }
    if (state.walk->next()) {
      ++state.steps;
      state.line = state.walk->op().line;
      state.kind = state.walk->op().kind;
      is_supported_ = take(state, rank);
    } else {
      // Waits for the requests pending at the end.
      state.ending = true;
      state.wait = Wait::all;
      state.lists = false;
    }
  }
}

// Starts the current operation; returns false if it is not supported.
bool PermissiveRun::take(RankState& state, std::int32_t rank) {
  const Op& op = state.walk->op();
  const std::int32_t me = state.walk->group().rank;
  if (state.walk->group().group == kNoGroup) return false;
  const KindTraits& traits = traits_of(op.kind);
  switch (traits.role) {
    case Role::end:
    case Role::nothing:
    case Role::launch:
    case Role::compute:
    case Role::threads:
    case Role::sleep:
    case Role::free_communicator:
    case Role::file_offset:
    case Role::complete_collective:
      return true;
    case Role::file:
      if (!file_traits_of(file_call_of(op)).makes_request) return true;
      requests_[post(state, me, op.peer, kUnnamedRequestTag)].complete = true;
      return state.requests < kMaxRequests;
    case Role::window:
      return take_window(state, rank);
    case Role::send:
    case Role::exchange:
      send(state, op.peer, op.tag);
      if (!traits.makes_request) return true;
      requests_[post(state, me, op.peer, op.tag)].complete = true;
      return state.requests < kMaxRequests;
    case Role::receive:
    case Role::receive_half:
      if (op.peer == kProcNull && !traits.makes_request) return true;
      post_receive(state, op.peer, op.tag);
      if (traits.makes_request) return state.requests < kMaxRequests;
      state.wait = Wait::receive;
      state.request = state.pending.last;
      return true;
    case Role::probe:
      if (op.peer == kProcNull || !traits.blocks) return true;
      state.wait = Wait::probe;
      state.probed = {state.walk->group().group, me, op.peer, op.tag};
      return true;
    case Role::number_request:
      take_number(state, static_cast<std::int32_t>(op.bytes)).pending = state.pending.last;
      requests_[state.pending.last].origin = static_cast<std::int32_t>(op.bytes);
      return true;
    case Role::complete_one:
    case Role::complete_last:
      state.request = traits.blocks ? named_request(state) : -1;
      if (state.request >= 0) state.wait = Wait::receive;  // otherwise no request known here
      return true;
    case Role::free_request:
      if (const std::int32_t request = named_request(state); request >= 0)
        free_request(state, request);
      return true;
    case Role::complete_all:
      if (!traits.blocks) return true;
      mark_awaited(state);
      state.wait = Wait::all;
      return true;
    case Role::complete_any:
    case Role::complete_some:
      if (!traits.blocks) return true;
      if (mark_awaited(state)) state.wait = Wait::any;
      return true;
    case Role::collective:
      if ((op.flags & kNumbered) != 0) take_number(state, op.tag);
      return enter(state, rank);
    case Role::make_communicator:
      return !is_collective(op.kind) || enter(state, rank);
    case Role::make_persistent:
    case Role::number_persistent:
    case Role::start:
    case Role::start_all:
    case Role::cancel:  // whether its message is matched depends on time
    case Role::custom:
      return false;
  }
  return false;
}

// A call on a window. Locks are granted and accesses completed at once; a win_start waits for
// messages from the ranks that it names, a win_wait for those of the win_complete.
bool PermissiveRun::take_window(RankState& state, std::int32_t rank) {
  const Op& op = state.walk->op();
  const std::int32_t me = state.walk->group().rank;
  const Operation call = window_call_of(op);
  if (window_traits_of(call).makes_request) {
    requests_[post(state, me, op.peer, kUnnamedRequestTag)].complete = true;
    return state.requests < kMaxRequests;
  }
  const bool begins = window_traits_of(call).form == WindowForm::group;
  if (!begins && call != Operation::win_complete && call != Operation::win_wait) return true;
  Epochs& epochs = epochs_[{rank, window_of(op)}];
  std::vector<std::int32_t> group = window_group_of(*state.walk);
  if (call == Operation::win_complete) group = epochs.targets;
  if (call == Operation::win_wait) group = epochs.origins;
  epochs.take(op, group);
  const bool sends = call == Operation::win_post || call == Operation::win_complete;
  const std::int32_t tag =
      call == Operation::win_post || call == Operation::win_start ? kPosted : kCompleted;
  for (const std::int32_t other : group) {
    if (other == me) continue;
    if (sends) {
      send(state, other, tag);
      continue;
    }
    post_receive(state, other, tag);
    requests_[state.pending.last].awaited = true;
    state.lists = true;
    state.wait = Wait::all;
  }
  return true;
}

// True if the event that the rank waits for may have happened; its wait is then over.
bool PermissiveRun::try_finish_wait(RankState& state) {
  switch (state.wait) {
    case Wait::none:
      return true;
    case Wait::receive: {
      if (!may_have_arrived(state, state.request)) return false;
      state.completed += requests_[state.request].side == kReceiver ? 1 : 0;
      end_request(state, state.request);
      return true;
    }
    case Wait::probe: {
      if (state.probed.source == kAnySource || state.probed.tag == kAnyTag) {
        return state.arrived > state.completed;
      }
      const auto channel = channels_.find(state.probed);
      return channel != channels_.end() && channel->second.surplus > 0;
    }
    case Wait::all: {
      std::uint64_t receives = 0;
      const std::int32_t missing = find_awaited(state, [&](std::int32_t request) {
        receives += requests_[request].side == kReceiver ? 1 : 0;
        return !is_any(request) && !requests_[request].complete;
      });
      if (missing >= 0 || state.arrived < state.completed + receives) return false;
      state.completed += receives;
      for (std::int32_t at = state.pending.first, next; at >= 0; at = next) {
        next = requests_.next(at);
        if (requests_[at].awaited || !state.lists) end_request(state, at);
      }
      return true;
    }
    case Wait::any:
      // For listed requests it is known which may have completed.
      if (!state.lists && state.arrived > state.completed) return true;
      if (find_awaited(
              state, [&](std::int32_t request) { return may_have_arrived(state, request); }) < 0) {
        return false;
      }
      for (std::int32_t at = state.pending.first; at >= 0; at = requests_.next(at)) {
        requests_[at].awaited = false;
      }
      return true;
    case Wait::collective: {
      const Group& group = groups_[state.group];
      if (state.number < group.first) return true;
      const OpenCollective& open = group.open[state.number - group.first];
      return state.needs_root && open.has_root;
    }
  }
  return true;
}

namespace {

// True if every rank that sends data in a collective is certain to send a nonzero amount.
bool moves_data(const CollectiveCall& call) {
  if (!call.receive_counts.empty()) {
    return call.receive_width > 0 && std::ranges::all_of(call.receive_counts, is_positive);
  }
  const bool by_receiver = call.operation == Operation::gather ||
                           call.operation == Operation::scatter ||
                           call.operation == Operation::scatterv;
  return (by_receiver ? call.receive_bytes() : call.send_bytes()) > 0;
}

}  // namespace

// The ranks that a rank of a communicator must wait for in a collective, whatever the algorithm.
PermissiveRun::CollectiveDependency PermissiveRun::dependency_of(const CollectiveCall& call,
                                                                 std::int32_t rank) {
  if (!tisim::is_collective(call.operation)) {
    const bool synchronises =
        call.operation == Operation::comm_split || call.operation == Operation::comm_dup;
    return synchronises ? CollectiveDependency::all : CollectiveDependency::none;
  }
  if (call.operation == Operation::barrier) return CollectiveDependency::all;
  if (!moves_data(call)) return CollectiveDependency::none;
  switch (traits_of(call.operation).flow) {
    case DataFlow::all_to_all:
      return CollectiveDependency::all;
    case DataFlow::from_root:
      return rank == call.root ? CollectiveDependency::none : CollectiveDependency::root;
    case DataFlow::to_root:
      return rank == call.root ? CollectiveDependency::all : CollectiveDependency::none;
    case DataFlow::chain:
      return rank == 0 ? CollectiveDependency::none
                       : CollectiveDependency::root;  // rank 0 is the root
    case DataFlow::neighbours:
      return CollectiveDependency::none;  // exchange() waits for their messages
  }
  return CollectiveDependency::none;
}

bool PermissiveRun::enter(RankState& state, std::int32_t rank) {
  const CommunicatorView& view = state.walk->group();
  const CollectiveCall call(state.walk->call(), view.size);
  const bool has_arguments = has_collective_call(state.walk->op().kind);
  if (has_arguments && !call.fits) return false;
  Group& group = groups_[view.group];
  const std::uint64_t number = state.walk->collective_number();
  const std::uint64_t place = number - group.first;
  if (place >= group.open.size()) group.open.resize(place + 1);
  OpenCollective& open = group.open[place];
  ++open.entered;
  entered_in(state, view.group) = number + 1;
  // A non-blocking collective counts as entered but does not block its rank.
  const bool is_blocking = state.kind != Kind::icollective;
  const CollectiveDependency dependency =
      is_blocking ? dependency_of(call, view.rank) : CollectiveDependency::none;
  if (view.rank == call.root && !open.has_root) {
    open.has_root = true;
    for (const std::int32_t other : open.waiting) wake(other);
  }
  if (dependency != CollectiveDependency::none && view.size > 1) {
    state.wait = Wait::collective;
    state.group = view.group;
    state.number = number;
    state.needs_root = dependency == CollectiveDependency::root;
    state.root = call.root;
    state.operation = call.operation;
    open.waiting.push_back(rank);
  }
  while (!group.open.empty() && group.open.front().entered == view.size) {
    for (const std::int32_t other : group.open.front().waiting) wake(other);
    group.open.pop_front();
    ++group.first;
  }
  if (is_blocking) exchange(state, call);
  return true;
}

// Neighbourhood collectives are messages: each rank waits for those from its listed sources.
void PermissiveRun::exchange(RankState& state, const CollectiveCall& call) {
  for (const double other : call.destinations) {
    send(state, static_cast<std::int32_t>(other), kNeighbours);
  }
  for (const double other : call.sources) {
    if (other == kProcNull) continue;
    post_receive(state, static_cast<std::int32_t>(other), kNeighbours);
    requests_[state.pending.last].awaited = true;
    state.lists = true;
    state.wait = Wait::all;
    state.operation = call.operation;
  }
}

// Number of collectives of the group that the rank has entered.
std::uint64_t& PermissiveRun::entered_in(RankState& state, std::uint32_t group) {
  for (auto& [of, entered] : state.entered) {
    if (of == group) return entered;
  }
  return state.entered.emplace_back(group, 0).second;
}

// A rank that another one waits for in a collective.
std::int32_t PermissiveRun::missing_rank_of(const RankState& waiting) const {
  if (waiting.needs_root) {
    return communicators_->world_rank(waiting.group, static_cast<std::int32_t>(waiting.root));
  }
  for (std::int32_t i = 0; i < communicators_->size(waiting.group); ++i) {
    const std::int32_t rank = communicators_->world_rank(waiting.group, i);
    const auto& entered = ranks_[static_cast<std::size_t>(rank)].entered;
    const bool is_there = std::ranges::any_of(entered, [&](const auto& of) {
      return of.first == waiting.group && of.second > waiting.number;
    });
    if (!is_there) return rank;
  }
  return -1;
}

PermissiveRun::Block PermissiveRun::block_of(std::int32_t rank) const {
  const RankState& state = ranks_[static_cast<std::size_t>(rank)];
  Block block;
  if (state.over || state.wait == Wait::none) return block;
  block.wait = state.wait;
  block.at_end = state.ending;
  block.line = state.line;
  block.kind = state.kind;
  std::int32_t request = -1;
  switch (state.wait) {
    case Wait::none:
      break;
    case Wait::receive:
      request = state.request;
      break;
    case Wait::all:
    case Wait::any:
      request = find_awaited(state, [this](std::int32_t pending) {
        return !is_any(pending) && !requests_[pending].complete;
      });
      block.operation = state.operation;
      break;
    case Wait::probe:
      block.tag = state.probed.tag;
      if (state.probed.source != kAnySource) {
        block.on = communicators_->world_rank(state.probed.group, state.probed.source);
      }
      break;
    case Wait::collective:
      block.operation = state.operation;
      block.on = missing_rank_of(state);
      break;
  }
  if (request < 0) return block;
  block.tag = requests_.key(request).tag;
  if (requests_.key(request).source != kAnySource) block.on = requests_[request].message;
  return block;
}

// Messages and requests of a permissive run: posting, matching, and lookup by waits.

void PermissiveRun::send(const RankState& state, std::int32_t peer, std::int32_t tag) {
  if (peer == kProcNull) return;
  const CommunicatorView& group = state.walk->group();
  const std::int32_t to = communicators_->world_rank(group.group, peer);
  RankState& receiver = ranks_[static_cast<std::size_t>(to)];
  ++receiver.arrived;
  const TraceChannel channel{group.group, peer, group.rank, tag};
  Channel& messages = channels_[channel];
  if (messages.receives.empty()) {
    ++messages.surplus;
  } else {
    const std::int32_t receive = messages.receives.front();
    messages.receives.pop_front();
    if (messages.receives.empty()) channels_.erase(channel);
    if (requests_[receive].freed) {
      requests_.release(receive);
    } else {
      requests_[receive].complete = true;
    }
  }
  if (receiver.wait != Wait::none) wake(to);
}

std::int32_t PermissiveRun::post(RankState& state, std::int32_t source, std::int32_t destination,
                                 std::int32_t tag) {
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.order = state.pending.order++;
  requests_.list(state.pending, rank_of(state), index, {source, destination, tag},
                 state.walk->op().comm);
  ++state.requests;
  return index;
}

void PermissiveRun::post_receive(RankState& state, std::int32_t peer, std::int32_t tag) {
  const CommunicatorView& group = state.walk->group();
  const std::int32_t index = post(state, peer, group.rank, tag);
  Request& request = requests_[index];
  request.complete = peer == kProcNull;
  if (request.complete) return;
  request.side = kReceiver;
  if (peer != kAnySource) request.message = communicators_->world_rank(group.group, peer);
  if (is_any(index)) return;
  const TraceChannel channel{group.group, group.rank, peer, tag};
  Channel& messages = channels_[channel];
  if (messages.surplus == 0) {
    messages.receives.push_back(index);
  } else {
    request.complete = true;
    if (--messages.surplus == 0) channels_.erase(channel);
  }
}

// Assigns the number to a new request; an older one loses it.
NumberedRequest& PermissiveRun::take_number(RankState& state, std::int32_t number) {
  NumberedRequest& numbered = state.numbers[number];
  if (numbered.pending >= 0) requests_[numbered.pending].origin = -1;
  numbered.pending = -1;
  return numbered;
}

// Removes the request from the pending ones.
void PermissiveRun::end_request(RankState& state, std::int32_t request) {
  if (requests_[request].origin >= 0) state.numbers[requests_[request].origin].pending = -1;
  requests_.unlist(state.pending, rank_of(state), request);
  requests_.release(request);
  --state.requests;
}

// Frees a request without waiting for it; its channel keeps it until its message is sent.
void PermissiveRun::free_request(RankState& state, std::int32_t request) {
  const bool is_kept =
      requests_[request].side == kReceiver && !is_any(request) && !requests_[request].complete;
  if (!is_kept) {
    end_request(state, request);
    return;
  }
  if (requests_[request].origin >= 0) state.numbers[requests_[request].origin].pending = -1;
  requests_.unlist(state.pending, rank_of(state), request);
  requests_[request].freed = true;
  --state.requests;
}

// The request that a wait names; -1: unknown here, or of a collective.
std::int32_t PermissiveRun::named_request(RankState& state) {
  return requests_.named(state.pending, rank_of(state), &state.numbers, state.walk->op());
}

// Marks the requests that a waitall or waitany lists, or all; returns whether there are any.
bool PermissiveRun::mark_awaited(RankState& state) {
  state.lists = (state.walk->op().flags & kNumbered) != 0;
  if (!state.lists) return state.pending.first >= 0;
  bool any = false;
  for (const double number : state.walk->call().arguments) {
    const std::int32_t request = state.numbers.pending(static_cast<std::int32_t>(number));
    if (request >= 0) any = requests_[request].awaited = true;
  }
  return any;
}

bool PermissiveRun::is_any(std::int32_t request) const {
  const RequestKey& key = requests_.key(request);
  return requests_[request].side == kReceiver && (key.source == kAnySource || key.tag == kAnyTag);
}

bool PermissiveRun::may_have_arrived(const RankState& state, std::int32_t request) const {
  return is_any(request) ? state.arrived > state.completed : requests_[request].complete;
}

// Loops of a permissive run: ranks are held at their turns, and repetitions skipped.

namespace {

constexpr int kMaxMisses = 64;  // above this, ranks are no longer held

}  // namespace

// Returns true if the rank stays at the turn.
bool PermissiveRun::hold(std::int32_t rank, LoopTurn turn) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  const bool is_first = !state.in_loop;
  state.in_loop = turn.remaining > 0;
  if (is_first) ++state.loops;
  if (is_first || !state.in_loop || misses_ > kMaxMisses) return false;
  state.left = turn.remaining;
  state.held = true;
  held_.push_back(rank);
  return true;
}

// Resumes all held ranks. No other rank can continue.
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

// Hash of the state that determines the future, except for the remaining repetitions. It uses no
// absolute numbers of collectives and requests.
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
  std::uint64_t channels_hash = 0;  // a hash table has no order
  for (const auto& [channel, messages] : channels_) {
    const std::uint64_t waiting = mixed(mixed(messages.surplus, 1), messages.receives.size());
    channels_hash += mixed(ChannelHash()(channel), waiting);
  }
  return mixed(hash, channels_hash);
}

std::uint64_t PermissiveRun::signature_of(const RankState& state) const {
  std::uint64_t hash = state.loops;
  const auto mix = [&hash](auto value) { hash = mixed(hash, static_cast<std::uint64_t>(value)); };
  mix(state.walk->signature());
  mix(state.arrived - state.completed);
  // Numbers only matter if they name a request.
  for (std::int32_t at = state.pending.first; at >= 0; at = requests_.next(at)) {
    const Request& request = requests_[at];
    mix(requests_.key(at).source);
    mix(requests_.key(at).destination);
    mix(requests_.key(at).tag);
    mix(request.message);
    mix(request.origin);
    mix((request.side == kReceiver ? 2 : 0) + (request.complete ? 1 : 0) + 4 * request.comm);
  }
  for (const auto& [group, entered] : state.entered) {
    mix(group);
    mix(entered - groups_[group].first);
  }
  return hash;
}

}  // namespace tisim
