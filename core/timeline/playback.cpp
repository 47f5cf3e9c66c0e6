#include "timeline/playback.hpp"

#include <algorithm>
#include <string>

#include "trace/vocabulary/table.hpp"

namespace tisim {

namespace {

std::size_t place(Kind kind, int operation) {
  if (operation < 0) return static_cast<std::size_t>(kind);
  const std::size_t first = kind == Kind::icollective ? kKinds + kOperations : kKinds;
  return first + static_cast<std::size_t>(operation);
}

std::vector<std::string> make_names() {
  static_assert(kKinds + kOperations + kCollectives <= 256, "a name is a byte");
  std::vector<std::string> names(kKinds + kOperations + kCollectives);
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    const bool has_calls = has_collective_call(kind) || kind == Kind::file || kind == Kind::window;
    if (!has_calls) names[i] = traits_of(kind).name;
  }
  for (std::size_t i = kFirstFileCall; i < kOperations; ++i) {
    const Kind kind = i < kFirstWindowCall ? Kind::file : Kind::window;
    names[kKinds + i] = tisim::name_of(kind, static_cast<Operation>(i));
  }
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const CollectiveTraits& collective = kCollectiveTraits[i];
    names[kKinds + i] = collective.name;
    names[kKinds + kOperations + i] = collective.non_blocking_name;
  }
  return names;
}

}  // namespace

std::uint8_t name_of(const ActionStart& action) {
  return static_cast<std::uint8_t>(place(static_cast<Kind>(action.kind), action.operation));
}

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = make_names();
  return names;
}

OpenAction& Playback::slot(std::vector<OpenAction>& actions, std::int32_t rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (place >= actions.size()) actions.resize(place + place / 2 + 1);
  return actions[place];
}

OpenAction* Playback::outermost(std::int32_t rank) {
  const auto place = static_cast<std::size_t>(rank);
  return place < outer_.size() && outer_[place].open ? &outer_[place] : nullptr;
}

OpenAction* Playback::innermost(std::int32_t rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (place < inner_.size() && inner_[place].open) return &inner_[place];
  return outermost(rank);
}

void Playback::check(const Records& records) const {
  std::size_t room = kAnyRanks;
  for (const auto& listener : listeners_) room = std::min(room, listener->ranks());
  const auto check_rank = [room](std::int32_t rank) {
    if (rank >= 0 && static_cast<std::size_t>(rank) < room) return;
    throw UnknownRank("an event is of rank " + std::to_string(rank) + ", but the timeline has " +
                      std::to_string(room) + " ranks; make it for all ranks of the simulation");
  };
  for (const ActionStart& action : records.actions) check_rank(action.rank);
  for (const StateRecord& state : records.states) check_rank(state.rank);
  for (const SentRecord& sent : records.sent) check_rank(sent.source);
  for (const WaitRecord& wait : records.waits) {
    check_rank(wait.source);
    check_rank(wait.destination);
  }
  for (const MessageRecord& message : records.messages) {
    check_rank(message.source);
    check_rank(message.destination);
  }
}

void Playback::play(const Records& records) {
  check(records);
  const ActionStart* action = records.actions.data();
  const StateRecord* state = records.states.data();
  const WaitRecord* wait = records.waits.data();
  const SentRecord* sent_record = records.sent.data();
  const MessageRecord* message = records.messages.data();
  for (const Entry entry : records.order) {
    switch (entry) {
      case Entry::action:
        begin(*action++);
        break;
      case Entry::state:
      case Entry::wait: {
        const WaitRecord* ended_by = entry == Entry::wait ? wait++ : nullptr;
        const OpenAction* during = outermost(state->rank);
        for (const auto& listener : listeners_) listener->state(*state, ended_by, during);
        ++state;
        break;
      }
      case Entry::sent:
        sent(*sent_record++);
        break;
      case Entry::received:
        received(*message++);
        break;
      case Entry::unattended:
        for (const auto& listener : listeners_) listener->received(*message, nullptr);
        ++message;
        break;
      case Entry::lost:
        for (const auto& listener : listeners_) listener->lost(*message);
        ++message;
        break;
    }
  }
}

void Playback::close(OpenAction& action, double time) {
  if (!action.open) return;
  action.open = false;
  action.end = time;
  for (const auto& listener : listeners_) listener->end(action);
}

void Playback::begin(const ActionStart& start) {
  if (start.level > 0 || static_cast<std::size_t>(start.rank) < inner_.size()) {
    close(slot(inner_, start.rank), start.time);
  }
  if (start.level == 0) close(slot(outer_, start.rank), start.time);
  const auto kind = static_cast<Kind>(start.kind);
  if (kind == Kind::end) {
    if (start.level > 0) return;
    for (const auto& listener : listeners_) listener->finish(start.rank, start.time);
    return;
  }
  OpenAction& action = slot(start.level == 0 ? outer_ : inner_, start.rank);
  action = OpenAction{};
  action.open = true;
  action.start = start;
  if (is_point_to_point(kind)) {
    action.bytes = start.bytes;
    if (start.peer >= 0) action.peer = start.peer;
  } else if (role_of(kind) == Role::complete_one) {
    const auto destination = static_cast<std::int32_t>(start.bytes);
    const std::int32_t other = start.peer == start.rank ? destination : start.peer;
    if (start.level == 0 && other >= 0) action.peer = other;
  } else if (action.collective()) {
    action.bytes = 0;
    action.peer = start.peer;
  }
  for (const auto& listener : listeners_) listener->begin(action);
}

void Playback::sent(const SentRecord& record) {
  OpenAction* outer = outermost(record.source);
  if (outer != nullptr && outer->collective()) outer->bytes += record.bytes;
  const OpenAction* inner = innermost(record.source);
  for (const auto& listener : listeners_) listener->sent(record, inner);
}

void Playback::received(const MessageRecord& record) {
  OpenAction* action = innermost(record.destination);
  if (action != nullptr) {
    const Role role = role_of(action->kind());
    const bool posts = traits_of(action->kind()).makes_request;
    if ((role == Role::receive && !posts) || role == Role::complete_one ||
        role == Role::complete_last) {
      action->bytes = record.bytes;
      action->peer = record.source;
    }
    ++action->received;
  }
  for (const auto& listener : listeners_) listener->received(record, action);
}

}  // namespace tisim
