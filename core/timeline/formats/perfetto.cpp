#include "timeline/formats/perfetto.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "timeline/playback.hpp"

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
                        kText = 23, kValue = 44, kFlow = 47, kFlowEnd = 48;
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

constexpr std::uint64_t kExplicitOrder = 3;  // of the child tracks of a track

std::uint64_t track_of(std::int32_t rank) { return kFirstRank + static_cast<std::uint64_t>(rank); }

// Arrows are numbered from 1.
std::uint64_t arrow_of(std::int64_t message) { return static_cast<std::uint64_t>(message) + 1; }

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

// All names are interned in the first packet, to which the others refer.
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
  if (sends(action.kind()) || action.kind() == Kind::nop) {
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
    track.holds = false;  // nothing would be visible
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

// The arrow begins at the send, whose start was held back for this.
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

void PerfettoWriter::slice(std::int32_t track, std::string_view name, std::int64_t line,
                           double begin, double end) {
  begin_packet();
  annotate(kLine, line);
  packet_.text(event_field::kText, name);
  finish_event(kBegin, track_of(track), begin);
  begin_packet();
  finish_event(kEnd, track_of(track), end);
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

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail_thinning(const std::string& path) {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path);
}

[[noreturn]] void damaged_timeline() {
  throw std::runtime_error("is not a Perfetto timeline, or is damaged");
}

// Iterates over the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    text_ = {};
    number_ = 0;
    switch (tag & 7U) {
      case 0:
        number_ = varint();
        break;
      case 1:
        text_ = take(8);
        break;
      case 2:
        text_ = take(varint());
        break;
      default:
        damaged_timeline();
    }
    return true;
  }
  std::uint32_t field() const { return field_; }
  std::uint64_t number() const { return number_; }
  std::string_view text() const { return text_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1)[0]);
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
    damaged_timeline();
  }
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) damaged_timeline();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  std::string_view text_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
};

enum class PacketKind : std::uint8_t { other, begin, end };

struct Packet {
  std::string_view bytes;  // including its header
  PacketKind kind = PacketKind::other;
  std::uint64_t track = 0, time = 0;
};

// Reads a timeline packet by packet.
class PacketReader {
 public:
  explicit PacketReader(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) fail_thinning(path);
  }

  // Returns false if there are no more.
  bool next(Packet& packet) {
    const int tag = std::getc(file_.get());
    if (tag == EOF) return false;
    if (tag != 0x0A) damaged_timeline();  // field 1 of a trace: a packet
    bytes_.assign(1, static_cast<char>(tag));
    std::uint64_t size = 0;
    for (unsigned shift = 0;; shift += 7) {
      const int byte = std::getc(file_.get());
      if (byte == EOF || shift > 28) damaged_timeline();
      bytes_.push_back(static_cast<char>(byte));
      size |= std::uint64_t{static_cast<unsigned>(byte) & 127U} << shift;
      if (byte < 128) break;
    }
    const std::size_t head = bytes_.size();
    bytes_.resize(head + size);
    if (std::fread(bytes_.data() + head, 1, size, file_.get()) != size) damaged_timeline();
    packet = Packet{};
    packet.bytes = bytes_;
    parse(packet, std::string_view(bytes_).substr(head));
    return true;
  }

 private:
  static void parse(Packet& packet, std::string_view bytes) {
    constexpr std::uint32_t kTimestamp = 8, kEvent = 11, kType = 9, kTrack = 11;
    for (Fields fields(bytes); fields.next();) {
      if (fields.field() == kTimestamp) packet.time = fields.number();
      if (fields.field() != kEvent) continue;
      for (Fields event(fields.text()); event.next();) {
        if (event.field() == kTrack) packet.track = event.number();
        if (event.field() == kType && event.number() == 1) packet.kind = PacketKind::begin;
        if (event.field() == kType && event.number() == 2) packet.kind = PacketKind::end;
      }
    }
  }

  File file_;
  std::string bytes_;
};

constexpr std::uint64_t kOpen = std::numeric_limits<std::uint64_t>::max();

// Slices, in order of their starts.
struct Slice {
  std::uint64_t length = kOpen;  // ns
  std::uint32_t bytes = 0;
};

// Open slices by track.
using OpenSlices = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;

std::vector<Slice> slices_of(const std::string& path) {
  PacketReader reader(path);
  std::vector<Slice> slices;
  std::vector<std::uint64_t> starts;
  OpenSlices open;
  for (Packet packet; reader.next(packet);) {
    if (packet.kind == PacketKind::other) continue;
    std::vector<std::uint32_t>& stack = open[packet.track];
    const auto size = static_cast<std::uint32_t>(packet.bytes.size());
    if (packet.kind == PacketKind::begin) {
      stack.push_back(static_cast<std::uint32_t>(slices.size()));
      slices.push_back({kOpen, size});
      starts.push_back(packet.time);
    } else if (!stack.empty()) {
      Slice& slice = slices[stack.back()];
      slice.length = packet.time - starts[stack.back()];
      slice.bytes += size;
      stack.pop_back();
    }
  }
  return slices;
}

// Lengths of slices are counted by their binary exponent and this many following bits.
constexpr unsigned kBits = 3;

unsigned place_of(std::uint64_t length) {
  if (length < (1U << kBits)) return static_cast<unsigned>(length);
  const auto exponent = static_cast<unsigned>(std::bit_width(length)) - 1;
  const auto rest = static_cast<unsigned>(length >> (exponent - kBits)) & ((1U << kBits) - 1);
  return ((exponent - kBits + 1) << kBits) + rest;
}

}  // namespace

std::uint64_t shortest_perfetto_slice(const std::string& path, std::uint64_t size) {
  std::array<std::uint64_t, 512> bytes{}, shortest{};
  std::uint64_t kept = 0;
  for (const Slice& slice : slices_of(path)) {
    if (slice.length == kOpen) continue;
    const unsigned place = place_of(slice.length);
    bytes[place] += slice.bytes;
    shortest[place] = std::max(shortest[place], slice.length + 1);
    kept += slice.bytes;
  }
  std::uint64_t least = 0;
  for (std::size_t place = 0; place < bytes.size() && kept > size; ++place) {
    kept -= bytes[place];
    if (bytes[place] > 0) least = shortest[place];
  }
  return least;
}

void thin_perfetto(const std::string& from, const std::string& to, std::uint64_t shortest) {
  const std::vector<Slice> slices = slices_of(from);
  PacketReader reader(from);
  const File target(std::fopen(to.c_str(), "wb"));
  if (!target) fail_thinning(to);
  OpenSlices open;
  std::uint32_t next = 0;
  for (Packet packet; reader.next(packet);) {
    bool is_kept = true;
    if (packet.kind == PacketKind::begin) {
      open[packet.track].push_back(next);
      is_kept = slices[next++].length >= shortest;
    } else if (packet.kind == PacketKind::end) {
      std::vector<std::uint32_t>& stack = open[packet.track];
      if (!stack.empty()) {
        is_kept = slices[stack.back()].length >= shortest;
        stack.pop_back();
      }
    }
    if (!is_kept) continue;
    if (std::fwrite(packet.bytes.data(), 1, packet.bytes.size(), target.get()) !=
        packet.bytes.size())
      fail_thinning(to);
  }
  if (std::fflush(target.get()) != 0) fail_thinning(to);
}

}  // namespace tisim
