#include "timeline/formats/perfetto_thin.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace tisim {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail_thinning(const std::string& path) {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path);
}

[[noreturn]] void damaged_timeline() {
  throw std::runtime_error("is no timeline of Perfetto, or damaged");
}

// Fields of a message, one after the other.
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
  std::string_view bytes;  // with its head
  PacketKind kind = PacketKind::other;
  std::uint64_t track = 0, time = 0;
};

// Reads a timeline packet by packet.
class PacketReader {
 public:
  explicit PacketReader(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) fail_thinning(path);
  }

  // False: there are no more.
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

// Slices, in the order of their beginnings.
struct Slice {
  std::uint64_t length = kOpen;  // ns
  std::uint32_t bytes = 0;
};

// The slices that are open, by track.
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

// Lengths of slices are counted by their binary exponent and this many bits behind it.
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
