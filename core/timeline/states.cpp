#include "timeline/states.hpp"

#include <algorithm>

#include "timeline/names.hpp"
#include "trace/vocabulary/call.hpp"

namespace tisim {

namespace {

enum class Flow : std::uint8_t { everybody, from_root, to_root, in_line };

Flow flow_of(const OpenAction& action) {
  switch (static_cast<Operation>(action.start.operation)) {
    case Operation::bcast:
    case Operation::scatter:
    case Operation::scatterv:
      return Flow::from_root;
    case Operation::reduce:
    case Operation::gather:
    case Operation::gatherv:
      return Flow::to_root;
    case Operation::scan:
    case Operation::exscan:
      return Flow::in_line;
    default:
      return Flow::everybody;
  }
}

State plain_state(Phase phase, bool with_message) {
  if (with_message) return State::transfer;
  switch (phase) {
    case Phase::computing:
      return State::compute;
    case Phase::unborn:
    case Phase::starting:
    case Phase::sleeping:
      return State::sleep;
    case Phase::injecting_send:
    case Phase::injecting_receive:
    case Phase::finishing_all:
      return State::overhead;
    case Phase::testing:
    case Phase::probing:
    case Phase::looking:
      return State::polling;
    case Phase::meeting:
      return State::barrier;
    default:
      return State::custom;
  }
}

}  // namespace

const std::vector<const char*>& state_names() {
  static const std::vector<const char*> names = {
      "compute",        "sleep",        "custom",        "overhead",        "polling",
      "transfer",       "late sender",  "late receiver", "wait at barrier", "wait at N x N",
      "late broadcast", "early reduce", "early scan"};
  return names;
}

States::Instance& States::instance(const Inside& inside) {
  Calls& calls = calls_[inside.communicator];
  const auto place = static_cast<std::size_t>(inside.number - calls.first);
  if (place >= calls.open.size()) calls.open.resize(place + 1);
  return calls.open[place];
}

void States::begin(const OpenAction& action) {
  const ActionStart& start = action.start;
  if (start.level != 0 || action.kind() != Kind::collective) return;
  const auto rank = static_cast<std::size_t>(start.rank);
  if (rank >= inside_.size()) inside_.resize(rank + rank / 2 + 1);
  const std::uint64_t key =
      static_cast<std::uint64_t>(start.rank) << 32 | static_cast<std::uint32_t>(start.tag);
  inside_[rank] = {start.tag, calls_of_[key]++, start.time};
  Instance& call = instance(inside_[rank]);
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
  Inside& inside = inside_[static_cast<std::size_t>(action.start.rank)];
  ++instance(inside).left;
  Calls& calls = calls_[inside.communicator];
  while (!calls.open.empty() && calls.open.front().left == action.start.members) {
    calls.open.pop_front();
    ++calls.first;
  }
  inside.communicator = -1;
}

void States::sent(const SentRecord& record, const OpenAction* action) {
  const auto rank = static_cast<std::size_t>(record.source);
  if (action == nullptr || action->start.level == 0 || rank >= inside_.size()) return;
  if (inside_[rank].communicator >= 0) sender_entered_[record.message] = inside_[rank].entered;
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
    // They met when the last of them had come: what it did until then decided when they go on.
    whole.cause = whole.peer = instance(inside_[static_cast<std::size_t>(state.rank)]).last;
    whole.started = state.end;
    whole.receives = whole.by_peer = 1;
  }
  if (wait == nullptr) {
    row(whole);
    return;
  }
  const Blame blamed = blame(state, *wait, action);
  StateRow rest = whole;
  rest.started = wait->started;
  rest.bytes = wait->bytes;
  rest.receives = wait->receives;
  rest.peer = wait->receives != 0 ? wait->source : wait->destination;
  // The call that a transfer waited for is the one at whose time it started.
  const bool by_source = wait->started == wait->sent;
  rest.by_peer = static_cast<std::uint8_t>(by_source == (wait->receives != 0));
  if (blamed.until > state.start && blamed.until < state.end) {
    whole.end = rest.start = blamed.until;
    whole.state = static_cast<std::uint8_t>(blamed.state);
    whole.cause = blamed.cause;
    row(whole);
  } else if (blamed.until >= state.end) {
    rest.state = static_cast<std::uint8_t>(blamed.state);
    rest.cause = blamed.cause;
  }
  row(rest);
}

States::Blame States::blame(const StateRecord& state, const WaitRecord& wait,
                            const OpenAction* action) {
  if (action == nullptr || action->kind() != Kind::collective) return blame_message(wait);
  return blame_collective(state, wait, *action);
}

States::Blame States::blame_message(const WaitRecord& wait) {
  if (wait.receives != 0) return {wait.sent, wait.source, State::late_sender};
  return {wait.received, wait.destination, State::late_receiver};
}

States::Blame States::blame_collective(const StateRecord& state, const WaitRecord& wait,
                                       const OpenAction& action) {
  const Instance& call = instance(inside_[static_cast<std::size_t>(state.rank)]);
  const Flow flow = flow_of(action);
  const auto entered = sender_entered_.find(wait.message);
  const double sender = entered == sender_entered_.end() ? kNoTime : entered->second;
  const bool all_here = call.entered == action.start.members;
  if (flow == Flow::everybody) {
    const auto operation = static_cast<Operation>(action.start.operation);
    const State waits = operation == Operation::barrier ? State::barrier : State::n_to_n;
    if (all_here) return {call.last_entered, call.last, waits};
    return {state.end, wait.receives != 0 ? wait.source : wait.destination, waits};
  }
  if (flow == Flow::to_root && state.rank == call.root) {
    if (all_here) return {call.last_entered, call.last, State::reduce};
    return {state.end, wait.source, State::reduce};
  }
  if (wait.receives == 0) {
    // The one who collects the data of others may come later than they.
    if (flow != Flow::to_root || wait.destination != call.root)
      return {kNoTime, -1, State::transfer};
    return {call.root_entered, call.root, State::late_receiver};
  }
  if (flow == Flow::from_root) {
    if (call.root_entered >= sender) return {call.root_entered, call.root, State::broadcast};
    return {sender, wait.source, State::broadcast};
  }
  return {sender, wait.source, flow == Flow::to_root ? State::reduce : State::scan};
}

}  // namespace tisim
