#include "timeline/formats/perfetto.hpp"

#include <cmath>

#include "timeline/names.hpp"

namespace tisim {

namespace {

// Numbers of fields in perfetto.protos.
namespace packet_field {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kEvent = 11, kInterned = 12, kFlags = 13,
                        kTrack = 60;
}
namespace track_field {
constexpr std::uint32_t kId = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8, kOrdering = 11,
                        kRank = 12;
}
namespace event_field {
constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11,
                        kValue = 44, kFlow = 47, kFlowEnd = 48;
}
namespace annotation_field {
constexpr std::uint32_t kName = 1, kInteger = 4, kReal = 5;
}
constexpr std::uint32_t kPacketOfTrace = 1;

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

// Tracks: all ranks, all counters, then each rank, and after the ranks each counter.
constexpr std::uint64_t kProcess = 1;
constexpr std::uint64_t kLoads = 2;
constexpr std::uint64_t kFirstRank = 16;

constexpr std::uint64_t kExplicitOrder = 3;  // of the tracks under a track

std::uint64_t track_of(std::int32_t rank) { return kFirstRank + static_cast<std::uint64_t>(rank); }

// Arrows are numbered from 1.
std::uint64_t arrow_of(std::int64_t message) { return static_cast<std::uint64_t>(message) + 1; }

bool starts_arrow(Kind kind) {
  return (kind >= Kind::send && kind <= Kind::ibsend) || kind == Kind::sendrecv;
}

}  // namespace

PerfettoWriter::PerfettoWriter(std::string_view title, const std::vector<std::string>& ranks)
    : tracks_(ranks.size()) {
  write_names();
  begin_packet();
  constexpr std::uint32_t kNumber = 1, kName = 6;
  packet_.text(kName, title).number(kNumber, 1).enclose(track_field::kProcess, 0);
  packet_.number(track_field::kOrdering, kExplicitOrder);
  finish_track(kProcess);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    begin_packet();
    packet_.number(track_field::kRank, i).number(track_field::kParent, kProcess);
    packet_.text(track_field::kName, ranks[i]);
    finish_track(track_of(static_cast<std::int32_t>(i)));
  }
}

// All names are interned in the first packet, which the others refer to.
void PerfettoWriter::write_names() {
  begin_packet();
  const auto intern = [this](std::uint32_t field, std::uint64_t number, std::string_view name) {
    if (name.empty()) return;
    constexpr std::uint32_t kNumber = 1, kName = 2;
    const std::size_t before = packet_.size();
    packet_.text(kName, name).number(kNumber, number).enclose(field, before);
  };
  constexpr std::uint32_t kCategoryNames = 1, kEventNames = 2, kAnnotationNames = 3;
  for (std::size_t i = 0; i < std::size(kCategories); ++i) {
    intern(kCategoryNames, i + 1, kCategories[i]);
  }
  for (std::size_t i = 0; i < kind_names().size(); ++i) {
    intern(kEventNames, kFirstKind + i, kind_names()[i]);
  }
  for (std::size_t i = 0; i < state_names().size(); ++i) {
    intern(kEventNames, kFirstState + i, state_names()[i]);
  }
  for (std::size_t i = 0; i < std::size(kAnnotations); ++i) {
    intern(kAnnotationNames, i + 1, kAnnotations[i]);
  }
  constexpr std::uint64_t kCleared = 1;
  packet_.enclose(packet_field::kInterned, 0).number(packet_field::kFlags, kCleared);
  finish_packet();
}

void PerfettoWriter::finish_packet() {
  constexpr std::uint64_t kSequence = 1;
  packet_.number(packet_field::kSequence, kSequence).enclose(kPacketOfTrace, 0);
  text_ << packet_.view();
}

void PerfettoWriter::finish_track(std::uint64_t id) {
  packet_.number(track_field::kId, id).enclose(packet_field::kTrack, 0);
  finish_packet();
}

void PerfettoWriter::finish_event(std::uint32_t type, std::uint64_t track, double time) {
  constexpr std::uint64_t kNeedsNames = 2;
  packet_.number(event_field::kTrack, track).number(event_field::kType, type);
  packet_.enclose(packet_field::kEvent, 0).number(packet_field::kFlags, kNeedsNames);
  packet_.number(packet_field::kTimestamp, static_cast<std::uint64_t>(std::llround(time * 1e9)));
  finish_packet();
}

void PerfettoWriter::annotate(std::uint32_t name, std::int64_t value) {
  const std::size_t before = packet_.size();
  packet_.number(annotation_field::kInteger, static_cast<std::uint64_t>(value));
  packet_.number(annotation_field::kName, name).enclose(event_field::kAnnotation, before);
}

void PerfettoWriter::begin(const OpenAction& action) {
  Track& track = tracks_[static_cast<std::size_t>(action.start.rank)];
  write_held_begin(action.start.rank);
  if (starts_arrow(action.kind()) || action.kind() == Kind::nop) {
    track.held = action;
    track.holds = true;
  } else {
    write_begin(action, kNoArrow);
  }
}

void PerfettoWriter::write_held_begin(std::int32_t rank) {
  Track& track = tracks_[static_cast<std::size_t>(rank)];
  if (!track.holds) return;
  track.holds = false;
  write_begin(track.held, kNoArrow);
}

void PerfettoWriter::write_begin(const OpenAction& action, std::int64_t message) {
  const ActionStart& start = action.start;
  const bool compute = action.kind() == Kind::compute;
  const bool part = start.level > 0;
  begin_packet();
  if (message != kNoArrow) packet_.fixed(event_field::kFlow, arrow_of(message));
  if (!part) annotate(kLine, start.line);
  if (!part && start.comm != 0) annotate(kCommunicator, start.comm);
  if (compute || action.kind() == Kind::sleep) {
    const std::size_t before = packet_.size();
    packet_.real(annotation_field::kReal, start.amount);
    packet_.number(annotation_field::kName, kVolume).enclose(event_field::kAnnotation, before);
  }
  packet_.number(event_field::kName, kFirstKind + name_of(start));
  packet_.number(event_field::kCategory, part ? kPart : compute ? kComputation : kMpi);
  finish_event(kBegin, track_of(start.rank), start.time);
}

void PerfettoWriter::end(const OpenAction& action) {
  const std::int32_t rank = action.start.rank;
  Track& track = tracks_[static_cast<std::size_t>(rank)];
  std::vector<std::int64_t>& arrived = track.arrived;
  if (action.kind() == Kind::nop && track.holds && arrived.empty() &&
      action.end == action.start.time) {
    track.holds = false;  // there is nothing to be seen
    return;
  }
  write_held_begin(rank);
  begin_packet();
  for (const std::int64_t message : arrived) {
    packet_.fixed(event_field::kFlowEnd, arrow_of(message));
  }
  arrived.clear();
  if (action.peer >= 0) annotate(kPeer, action.peer);
  if (action.bytes >= 0) annotate(kBytes, action.bytes);
  finish_event(kEnd, track_of(rank), action.end);
}

// The arrow begins at the send, whose beginning has been held back for that.
void PerfettoWriter::sent(const SentRecord& record, const OpenAction* /*action*/) {
  Track& track = tracks_[static_cast<std::size_t>(record.source)];
  if (!track.holds) {
    arrowless_.insert(record.message);
    return;
  }
  track.holds = false;
  write_begin(track.held, record.message);
}

void PerfettoWriter::received(const MessageRecord& message, const OpenAction* action) {
  if (arrowless_.erase(message.number) > 0 || action == nullptr) return;
  tracks_[static_cast<std::size_t>(message.destination)].arrived.push_back(message.number);
}

void PerfettoWriter::row(const StateRow& row) {
  if (row.cause < 0) return;
  write_held_begin(row.rank);
  begin_packet();
  annotate(kCause, row.cause);
  packet_.number(event_field::kName, kFirstState + row.state);
  packet_.number(event_field::kCategory, kWaitState);
  finish_event(kBegin, track_of(row.rank), row.start);
  begin_packet();
  finish_event(kEnd, track_of(row.rank), row.end);
}

void PerfettoWriter::counter(std::string_view name, std::string_view unit,
                             std::span<const double> times, std::span<const double> values) {
  if (counters_ == 0) {
    begin_packet();
    packet_.number(track_field::kOrdering, kExplicitOrder).text(track_field::kName, "link load");
    finish_track(kLoads);
  }
  const std::uint64_t id = kFirstRank + tracks_.size() + counters_;
  begin_packet();
  constexpr std::uint32_t kUnit = 6;
  packet_.text(kUnit, unit).enclose(track_field::kCounter, 0);
  packet_.number(track_field::kRank, counters_).number(track_field::kParent, kLoads);
  packet_.text(track_field::kName, name);
  finish_track(id);
  ++counters_;
  for (std::size_t i = 0; i < times.size(); ++i) {
    begin_packet();
    packet_.real(event_field::kValue, values[i]);
    finish_event(kCounter, id, times[i]);
  }
}

}  // namespace tisim
