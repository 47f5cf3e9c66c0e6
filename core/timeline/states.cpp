#include "timeline/states.hpp"

#include <algorithm>

#include "mpi/rank.hpp"
#include "timeline/playback.hpp"
#include "trace/vocabulary/call.hpp"

namespace tisim {

namespace {

State plain_state(Phase phase, bool with_message) {
  if (with_message) return State::transfer;
  switch (phase) {
    case Phase::computing:
      return State::compute;
    case Phase::not_started:
    case Phase::initialising:
    case Phase::sleeping:
      return State::sleep;
    case Phase::send_overhead:
    case Phase::receive_overhead:
    case Phase::completing_all:
    case Phase::leaving:
      return State::overhead;
    case Phase::testing:
    case Phase::probing:
    case Phase::waiting_for_any_send:
      return State::polling;
    case Phase::accessing:
      return State::io;
    case Phase::synchronising:
      return State::barrier;
    default:
      return State::custom;
  }
}

}  // namespace

const std::vector<const char*>& state_names() {
  static const std::vector<const char*> names = {
      "compute",       "sleep",          "custom",       "overhead",      "polling",
      "I/O",           "transfer",       "late sender",  "late receiver", "wait at barrier",
      "wait at N x N", "late broadcast", "early reduce", "early scan"};
  return names;
}

State wait_state_of(Operation operation) {
  switch (traits_of(operation).flow) {
    case DataFlow::from_root:
      return State::broadcast;
    case DataFlow::to_root:
      return State::reduce;
    case DataFlow::chain:
      return State::scan;
    case DataFlow::neighbours:
      return State::late_sender;
    default:
      return operation == Operation::barrier ? State::barrier : State::n_to_n;
  }
}

States::Collective& States::collective_of(const Membership& membership) {
  OpenCollectives& calls = open_[membership.communicator];
  const auto place = static_cast<std::size_t>(membership.number - calls.first);
  if (place >= calls.open.size()) calls.open.resize(place + 1);
  return calls.open[place];
}

// The minimum over all sinks.
std::size_t States::ranks() const {
  std::size_t room = kAnyRanks;
  for (const auto& sink : sinks_) room = std::min(room, sink->ranks());
  return room;
}

void States::begin(const OpenAction& action) {
  const ActionStart& start = action.start;
  if (start.level != 0 || action.kind() != Kind::collective) return;
  const auto rank = static_cast<std::size_t>(start.rank);
  if (rank >= memberships_.size()) memberships_.resize(rank + rank / 2 + 1);
  const std::uint64_t key =
      static_cast<std::uint64_t>(start.rank) << 32 | static_cast<std::uint32_t>(start.tag);
  memberships_[rank] = {start.tag, calls_of_[key]++, start.time};
  Collective& call = collective_of(memberships_[rank]);
  ++call.entered;
  call.last = start.rank;
  call.last_entered = start.time;
  if (action.peer == start.rank) {
    call.root = start.rank;
    call.root_entered = start.time;
  }
}

void States::end(const OpenAction& action) {
  if (action.start.level != 0 || action.kind() != Kind::collective) return;
  Membership& membership = memberships_[static_cast<std::size_t>(action.start.rank)];
  ++collective_of(membership).left;
  OpenCollectives& calls = open_[membership.communicator];
  while (!calls.open.empty() && calls.open.front().left == action.start.members) {
    calls.open.pop_front();
    ++calls.first;
  }
  membership.communicator = -1;
}

void States::sent(const SentRecord& record, const OpenAction* action) {
  const auto rank = static_cast<std::size_t>(record.source);
  if (action == nullptr || action->start.level == 0 || rank >= memberships_.size()) return;
  if (memberships_[rank].communicator >= 0)
    sender_entered_[record.message] = memberships_[rank].entered;
}

void States::received(const MessageRecord& record, const OpenAction* /*action*/) {
  if (record.collective != 0) sender_entered_.erase(record.number);
}

void States::state(const StateRecord& state, const WaitRecord* wait, const OpenAction* action) {
  StateRow whole{};
  whole.start = state.start;
  whole.end = state.end;
  whole.started = kNoTime;
  whole.rank = state.rank;
  whole.cause = whole.peer = -1;
  whole.state =
      static_cast<std::uint8_t>(plain_state(static_cast<Phase>(state.phase), wait != nullptr));
  if (action != nullptr) {
    whole.kind = name_of(action->start);
    whole.line = action->start.line;
  }
  if (whole.state == static_cast<std::uint8_t>(State::barrier)) {
    // The barrier ends when the last rank enters it: that rank's previous actions decided when.
    whole.cause = whole.peer =
        collective_of(memberships_[static_cast<std::size_t>(state.rank)]).last;
    whole.started = state.end;
    whole.receives = whole.by_peer = 1;
  }
  if (wait == nullptr) {
    row(whole);
    return;
  }
  const WaitCause cause = cause_of(state, *wait, action);
  StateRow rest = whole;
  rest.bytes = wait->bytes;
  rest.receives = wait->receives;
  rest.peer = wait->receives != 0 ? wait->source : wait->destination;
  // A rank woken when the transfer starts, by the other side's answer, continues to wait.
  if (wait->started < state.end) {
    rest.started = wait->started;
    // A transfer started at the time of the call that it waited for.
    const bool by_source = wait->started == wait->sent;
    rest.by_peer = static_cast<std::uint8_t>(by_source == (wait->receives != 0));
  }
  if (cause.until > state.start && cause.until < state.end) {
    whole.end = rest.start = cause.until;
    whole.state = static_cast<std::uint8_t>(cause.state);
    whole.cause = cause.rank;
    row(whole);
  } else if (cause.until >= state.end) {
    rest.state = static_cast<std::uint8_t>(cause.state);
    rest.cause = cause.rank;
  }
  row(rest);
}

States::WaitCause States::cause_of(const StateRecord& state, const WaitRecord& wait,
                                   const OpenAction* action) {
  if (action == nullptr || action->kind() != Kind::collective) return cause_in_message(wait);
  return cause_in_collective(state, wait, *action);
}

States::WaitCause States::cause_in_message(const WaitRecord& wait) {
  if (wait.receives != 0) return {wait.sent, wait.source, State::late_sender};
  return {wait.received, wait.destination, State::late_receiver};
}

States::WaitCause States::cause_in_collective(const StateRecord& state, const WaitRecord& wait,
                                              const OpenAction& action) {
  const Collective& call = collective_of(memberships_[static_cast<std::size_t>(state.rank)]);
  const auto operation = static_cast<Operation>(action.start.operation);
  const DataFlow flow = traits_of(operation).flow;
  const State waits = wait_state_of(operation);
  const auto entered = sender_entered_.find(wait.message);
  const double sender = entered == sender_entered_.end() ? kNoTime : entered->second;
  if (flow == DataFlow::neighbours) return cause_in_message(wait);  // all is posted at entry
  const bool all_here = call.entered == action.start.members;
  if (flow == DataFlow::all_to_all) {
    if (all_here) return {call.last_entered, call.last, waits};
    if (wait.started >= state.end) return {kNoTime, -1, State::transfer};  // the other rank is here
    return {state.end, wait.receives != 0 ? wait.source : wait.destination, waits};
  }
  if (flow == DataFlow::to_root && state.rank == call.root) {
    if (all_here) return {call.last_entered, call.last, waits};
    return {state.end, wait.source, waits};
  }
  if (wait.receives == 0) {
    // The root, which collects the other ranks' data, may enter later than they do.
    if (flow != DataFlow::to_root || wait.destination != call.root)
      return {kNoTime, -1, State::transfer};
    return {call.root_entered, call.root, State::late_receiver};
  }
  if (flow == DataFlow::from_root && call.root_entered >= sender)
    return {call.root_entered, call.root, waits};
  return {sender, wait.source, waits};
}

}  // namespace tisim
