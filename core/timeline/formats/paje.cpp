#include "timeline/formats/paje.hpp"

#include <string>

#include "trace/vocabulary/call.hpp"

namespace tisim {

namespace {

// Numbers that the header assigns to events, types and the root container.
enum Event : std::int32_t {
  kContainerType,
  kStateType,
  kLinkType,
  kEntityValue,
  kCreateContainer,
  kDestroyContainer,
  kPushState,
  kPopState,
  kStartLink,
  kEndLink
};
enum Type : std::int32_t { kRoot, kRankType, kStateContainer, kLinks, kFirstValue };

struct Definition {
  std::string_view name;
  std::string_view fields;  // "name type" pairs
};
constexpr Definition kDefinitions[] = {
    {"PajeDefineContainerType", "Alias string Type string Name string"},
    {"PajeDefineStateType", "Alias string Type string Name string"},
    {"PajeDefineLinkType",
     "Alias string Type string StartContainerType string EndContainerType string Name string"},
    {"PajeDefineEntityValue", "Alias string Type string Name string Color color"},
    {"PajeCreateContainer", "Time date Alias string Type string Container string Name string"},
    {"PajeDestroyContainer", "Time date Type string Name string"},
    {"PajePushState", "Time date Type string Container string Value string"},
    {"PajePopState", "Time date Type string Container string"},
    {"PajeStartLink",
     "Time date Type string Container string Value string StartContainer string Key string"},
    {"PajeEndLink",
     "Time date Type string Container string Value string EndContainer string Key string"},
};

void write_definition(Text& text, std::int32_t number, const Definition& definition) {
  text << "%EventDef " << definition.name << ' ' << number << '\n';
  std::string_view left = definition.fields;
  while (!left.empty()) {
    const std::size_t name = left.find(' ');
    const std::size_t type = std::min(left.find(' ', name + 1), left.size());
    text << "%       " << left.substr(0, type) << '\n';
    left.remove_prefix(std::min(type + 1, left.size()));
  }
  text << "%EndEventDef\n";
}

// The name of an action's state in SimGrid's replay; empty if it has none.
std::string_view state_name(const OpenAction& action) {
  if (action.start.idle != 0) return {};
  switch (role_of(action.kind())) {
    case Role::nothing:
    case Role::compute:
    case Role::sleep:
    case Role::make_communicator:
    case Role::free_communicator:
    case Role::custom:
    case Role::launch:
    case Role::file:
    case Role::window:
      return {};
    case Role::collective:
      break;
    default:
      return "kernel";
  }
  switch (static_cast<Operation>(action.start.operation)) {
    case Operation::bcast:
      return "action_bcast";
    case Operation::reduce:
      return "action_reduce";
    case Operation::allreduce:
      return "action_allreduce";
    case Operation::alltoall:
      return "action_alltoall";
    case Operation::gather:
      return "gather";
    case Operation::gatherv:
      return "gatherv";
    case Operation::allgather:
      return "allgather";
    case Operation::allgatherv:
      return "allgatherv";
    case Operation::scatter:
      return "action_scatter";
    case Operation::scatterv:
      return "action_scatterv";
    case Operation::reducescatter:
      return "action_reducescatter";
    case Operation::scan:
    case Operation::exscan:
      return "action_scan";
    default:
      return "kernel";
  }
}

// Red, green and blue from 0 to 1, as in SimGrid's output for each of its values.
std::string_view colour_of(std::string_view value) {
  static const std::map<std::string_view, std::string_view> colours = {
      {"smpi_replay_run_init", "0 1 0"},
      {"smpi_replay_run_finalize", "0 1 0"},
      {"kernel", "0.5 0.5 0.5"},
      {"action_bcast", "0 0.78 0.39"},
      {"action_reduce", "0 1 0"},
      {"action_allreduce", "1 0 1"},
      {"action_alltoall", "0.52 0 1"},
      {"gather", "1 1 0"},
      {"gatherv", "1 1 0.52"},
      {"allgather", "1 0 0"},
      {"allgatherv", "1 0.52 0.52"},
      {"action_scatter", "1 0.74 0.54"},
      {"action_scatterv", "1 0.74 0.54"},
      {"action_reducescatter", "0 1 0"},
      {"action_scan", "1 0.58 0.23"},
  };
  return colours.at(value);
}

}  // namespace

PajeWriter::PajeWriter(std::int32_t ranks)
    : current_links_(static_cast<std::size_t>(ranks)), arrived_(static_cast<std::size_t>(ranks)) {
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(std::size(kDefinitions)); ++i) {
    write_definition(text_, i, kDefinitions[i]);
  }
  text_ << kContainerType << ' ' << kRankType << " 0 MPI\n";
  text_ << kStateType << ' ' << kStateContainer << ' ' << kRankType << " MPI_STATE\n";
  text_ << kLinkType << ' ' << kLinks << " 0 " << kRankType << ' ' << kRankType << " MPI_LINK\n";
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    text_ << kCreateContainer << ' ';
    text_.seconds(0.0) << ' ' << rank + 1 << ' ' << kRankType << " 0 \"rank-" << rank << "\"\n";
  }
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    push(0.0, rank, "smpi_replay_run_init");
    pop(0.0, rank);
  }
}

void PajeWriter::push(double time, std::int32_t rank, std::string_view value) {
  const auto [place, is_new] =
      values_.try_emplace(value, kFirstValue + static_cast<std::int32_t>(values_.size()));
  if (is_new) {
    text_ << kEntityValue << ' ' << place->second << ' ' << kStateContainer << ' ' << value << " \""
          << colour_of(value) << "\"\n";
  }
  text_ << kPushState << ' ';
  text_.seconds(time) << ' ' << kStateContainer << ' ' << rank + 1 << ' ' << place->second << '\n';
}

void PajeWriter::pop(double time, std::int32_t rank) {
  text_ << kPopState << ' ';
  text_.seconds(time) << ' ' << kStateContainer << ' ' << rank + 1 << '\n';
}

void PajeWriter::begin(const OpenAction& action) {
  if (action.start.level != 0) return;
  const std::string_view value = state_name(action);
  if (value.empty()) return;
  push(action.start.time, action.start.rank, value);
  if (sends(action.kind()) && action.peer >= 0) start_link(action);
}

void PajeWriter::end(const OpenAction& action) {
  if (action.start.level != 0) return;
  const std::int32_t rank = action.start.rank;
  const bool links_first = action.kind() == Kind::sendrecv || action.kind() == Kind::waitall ||
                           is_recorded_choice(action.kind());
  if (links_first) end_links(rank, action.end);
  if (!state_name(action).empty()) pop(action.end, rank);
  if (!links_first) end_links(rank, action.end);
}

void PajeWriter::start_link(const OpenAction& action) {
  const ActionStart& start = action.start;
  const Started link{{start.rank, action.peer, start.tag}, ++links_};
  text_ << kStartLink << ' ';
  text_.seconds(start.time) << ' ' << kLinks << " 0 PTP " << start.rank + 1 << ' ';
  write_key(link);
  current_links_[static_cast<std::size_t>(start.rank)] = link;
}

void PajeWriter::write_key(const Started& link) {
  const auto& [source, destination, tag] = link.key;
  text_ << source + 1 << '_' << destination + 1 << '_' << tag << '_' << link.number << '\n';
}

void PajeWriter::sent(const SentRecord& record, const OpenAction* action) {
  if (action == nullptr || action->start.level != 0) return;
  Started& waiting = current_links_[static_cast<std::size_t>(record.source)];
  if (waiting.number > 0) in_flight_[record.message] = std::exchange(waiting, {});
}

void PajeWriter::received(const MessageRecord& message, const OpenAction* /*action*/) {
  if (message.collective != 0) return;
  arrived_[static_cast<std::size_t>(message.destination)].push_back(message.number);
}

void PajeWriter::end_links(std::int32_t rank, double time) {
  // A rank's exchange with itself is not a message: it arrives when the call ends.
  Started& waiting = current_links_[static_cast<std::size_t>(rank)];
  if (waiting.number > 0) write_end(std::exchange(waiting, {}), rank, time);
  std::vector<std::int64_t>& arrived = arrived_[static_cast<std::size_t>(rank)];
  for (const std::int64_t number : arrived) {
    const auto link = in_flight_.find(number);
    if (link == in_flight_.end()) continue;
    write_end(link->second, rank, time);
    in_flight_.erase(link);
  }
  arrived.clear();
}

void PajeWriter::write_end(const Started& link, std::int32_t rank, double time) {
  text_ << kEndLink << ' ';
  text_.seconds(time) << ' ' << kLinks << " 0 PTP " << rank + 1 << ' ';
  write_key(link);
}

void PajeWriter::finish(std::int32_t rank, double time) {
  push(time, rank, "smpi_replay_run_finalize");
  pop(time, rank);
  text_ << kDestroyContainer << ' ';
  text_.seconds(time) << ' ' << kRankType << ' ' << rank + 1 << '\n';
}

}  // namespace tisim
