#include "timeline/perfetto.hpp"

#include <cmath>

#include "timeline/names.hpp"

namespace tisim {

namespace {

// Types of track events.
constexpr std::uint32_t kBegin = 1;
constexpr std::uint32_t kEnd = 2;
constexpr std::uint32_t kCounter = 4;

// Numbers of interned texts: names of kinds from 1, of states from 257; annotations; categories.
constexpr std::uint64_t kFirstKind = 1;
constexpr std::uint64_t kFirstState = 257;
enum Annotation : std::uint32_t { kBytes = 1, kPeer, kLine, kCommunicator, kVolume, kCause };
constexpr const char* kAnnotations[] = {"bytes",        "peer",   "line",
                                        "communicator", "volume", "waits for rank"};
enum Category : std::uint32_t { kComputation = 1, kMpi, kPart, kWaitState };
constexpr const char* kCategories[] = {"computation", "MPI", "part of a collective", "wait state"};

// Tracks: all ranks, all counters, then each rank and each counter.
constexpr std::uint64_t kProcess = 1;
constexpr std::uint64_t kLoads = 2;
constexpr std::uint64_t kFirstRank = 0x100000000;
constexpr std::uint64_t kFirstCounter = 0x200000000;

constexpr std::uint64_t kSequence = 1;
constexpr std::uint32_t kExplicitOrder = 3;  // of the tracks under a track

std::uint64_t track_of(std::int32_t rank) { return kFirstRank + static_cast<std::uint64_t>(rank); }

bool sends(Kind kind) { return kind >= Kind::send && kind <= Kind::ibsend; }

}  // namespace

PerfettoWriter::PerfettoWriter(std::string_view title, const std::vector<std::string>& ranks)
    : tracks_(ranks.size()) {
  write_names();
  ProtoMessage process;
  process.number(1, 1).text(6, title);
  write_track(kProcess, ProtoMessage().message(3, process).number(11, kExplicitOrder));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ProtoMessage track;
    track.text(2, ranks[i]).number(5, kProcess).number(12, i);
    write_track(track_of(static_cast<std::int32_t>(i)), track);
  }
}

// All names are interned in the first packet, which the others refer to.
void PerfettoWriter::write_names() {
  ProtoMessage interned;
  const auto intern = [&interned](std::uint32_t field, std::uint64_t number,
                                  std::string_view name) {
    if (!name.empty()) interned.message(field, ProtoMessage().number(1, number).text(2, name));
  };
  for (std::size_t i = 0; i < std::size(kCategories); ++i) intern(1, i + 1, kCategories[i]);
  for (std::size_t i = 0; i < kind_names().size(); ++i) intern(2, kFirstKind + i, kind_names()[i]);
  for (std::size_t i = 0; i < state_names().size(); ++i)
    intern(2, kFirstState + i, state_names()[i]);
  for (std::size_t i = 0; i < std::size(kAnnotations); ++i) intern(3, i + 1, kAnnotations[i]);
  constexpr std::uint64_t kCleared = 1;
  packet_.clear();
  packet_.number(10, kSequence).number(13, kCleared).message(12, interned);
  text_ << ProtoMessage().message(1, packet_).view();
}

void PerfettoWriter::write_track(std::uint64_t id, const ProtoMessage& descriptor) {
  ProtoMessage track;
  track.number(1, id);
  packet_.clear();
  packet_.number(10, kSequence);
  // Fields may stand in any order: the number of the track before the rest.
  packet_.text(60, std::string(track.view()) + std::string(descriptor.view()));
  text_ << ProtoMessage().message(1, packet_).view();
}

void PerfettoWriter::write_event(double time, const ProtoMessage& event) {
  constexpr std::uint64_t kNeedsNames = 2;
  packet_.clear();
  packet_.number(8, static_cast<std::uint64_t>(std::llround(time * 1e9)));
  packet_.number(10, kSequence).number(13, kNeedsNames).message(11, event);
  annotation_.clear();
  annotation_.message(1, packet_);
  text_ << annotation_.view();
}

ProtoMessage& PerfettoWriter::event(std::uint32_t type, std::int32_t rank) {
  event_.clear();
  return event_.number(9, type).number(11, track_of(rank));
}

void PerfettoWriter::annotate(std::uint32_t name, std::int64_t value) {
  annotation_.clear();
  annotation_.number(1, name).number(4, static_cast<std::uint64_t>(value));
  event_.message(4, annotation_);
}

void PerfettoWriter::begin(const OpenAction& action) {
  Track& track = tracks_[static_cast<std::size_t>(action.start.rank)];
  let_go(action.start.rank);
  if (action.kind() == Kind::nop) return;
  if (sends(action.kind()) || action.kind() == Kind::sendrecv) {
    track.held = action;
    track.holds = true;
  } else {
    write_begin(action, nullptr);
  }
}

void PerfettoWriter::let_go(std::int32_t rank) {
  Track& track = tracks_[static_cast<std::size_t>(rank)];
  if (!track.holds) return;
  track.holds = false;
  write_begin(track.held, nullptr);
}

void PerfettoWriter::write_begin(const OpenAction& action, const std::uint64_t* message) {
  const ActionStart& start = action.start;
  const bool compute = action.kind() == Kind::compute;
  const bool part = start.level > 0;
  ProtoMessage& begin = event(kBegin, start.rank);
  begin.number(10, kFirstKind + name_of(start));
  begin.number(3, compute ? kComputation : part ? kPart : kMpi);
  if (message != nullptr) begin.fixed(47, *message);
  if (!part) annotate(kLine, start.line);
  if (!part && start.comm != 0) annotate(kCommunicator, start.comm);
  if (compute || action.kind() == Kind::sleep) {
    annotation_.clear();
    event_.message(4, annotation_.number(1, kVolume).real(5, start.amount));
  }
  write_event(start.time, event_);
}

void PerfettoWriter::end(const OpenAction& action) {
  if (action.kind() == Kind::nop) return;
  const std::int32_t rank = action.start.rank;
  let_go(rank);
  Track& track = tracks_[static_cast<std::size_t>(rank)];
  event(kEnd, rank);
  if (action.bytes >= 0) annotate(kBytes, action.bytes);
  if (action.peer >= 0) annotate(kPeer, action.peer);
  for (const std::uint64_t message : track.arrived) event_.fixed(48, message);
  track.arrived.clear();
  write_event(action.end, event_);
}

// The arrow begins at the send, whose beginning has been held back for that.
void PerfettoWriter::sent(const SentRecord& record, const OpenAction* /*action*/) {
  Track& track = tracks_[static_cast<std::size_t>(record.source)];
  if (!track.holds) return;
  track.holds = false;
  const auto number = static_cast<std::uint64_t>(record.message);
  write_begin(track.held, &number);
}

void PerfettoWriter::received(const MessageRecord& message, const OpenAction* action) {
  if (action == nullptr) return;
  Track& track = tracks_[static_cast<std::size_t>(message.destination)];
  track.arrived.push_back(static_cast<std::uint64_t>(message.number));
}

void PerfettoWriter::row(const StateRow& row) {
  if (row.cause < 0) return;
  let_go(row.rank);
  event(kBegin, row.rank).number(10, kFirstState + row.state).number(3, kWaitState);
  annotate(kCause, row.cause);
  write_event(row.start, event_);
  event(kEnd, row.rank);
  write_event(row.end, event_);
}

void PerfettoWriter::counter(std::string_view name, std::string_view unit,
                             std::span<const double> times, std::span<const double> values) {
  if (counters_ == 0)
    write_track(kLoads, ProtoMessage().text(2, "link load").number(11, kExplicitOrder));
  const std::uint64_t id = kFirstCounter + counters_;
  ProtoMessage counter;
  counter.text(6, unit);
  ProtoMessage track;
  write_track(id, track.text(2, name).number(5, kLoads).number(12, counters_).message(8, counter));
  ++counters_;
  for (std::size_t i = 0; i < times.size(); ++i) {
    event_.clear();
    event_.number(9, kCounter).number(11, id).real(44, values[i]);
    write_event(times[i], event_);
  }
}

}  // namespace tisim
