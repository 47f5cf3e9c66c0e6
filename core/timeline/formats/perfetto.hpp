// Timelines in Perfetto's format, a protocol buffer, and thinned ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "timeline/formats/text.hpp"
#include "timeline/states.hpp"

namespace tisim {

// The wire format of protocol buffers: fields as numbers, a tag before each.

// A message that is being written, from its end to its beginning: so the length of what it
// contains is known when it is its turn. Fields may stand in any order.
class ProtoMessage {
 public:
  ProtoMessage& number(std::uint32_t field, std::uint64_t value) {
    reserve();
    varint(value);
    varint(std::uint64_t{field} << 3);
    return *this;
  }
  ProtoMessage& fixed(std::uint32_t field, std::uint64_t value) { return eight(field, value); }
  ProtoMessage& real(std::uint32_t field, double value) { return eight(field, value); }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    const std::size_t before = size();
    bytes(value);
    return enclose(field, before);
  }
  ProtoMessage& bytes(std::string_view value) {
    reserve(value.size());
    begin_ -= value.size();
    std::memcpy(bytes_.get() + begin_, value.data(), value.size());
    return *this;
  }

  // Makes a message, a field of another, of all that was written since there were `before` bytes.
  ProtoMessage& enclose(std::uint32_t field, std::size_t before) {
    reserve();
    varint(size() - before);
    varint(std::uint64_t{field} << 3 | 2U);
    return *this;
  }

  std::size_t size() const { return capacity_ - begin_; }
  std::string_view view() const { return {bytes_.get() + begin_, size()}; }
  void clear() { begin_ = capacity_; }

 private:
  template <class Value>
  ProtoMessage& eight(std::uint32_t field, Value value) {
    reserve();
    begin_ -= sizeof value;  // little-endian, as the machines that tisim runs on
    std::memcpy(bytes_.get() + begin_, &value, sizeof value);
    varint(std::uint64_t{field} << 3 | 1U);
    return *this;
  }
  void varint(std::uint64_t value) {
    std::size_t count = 1;
    for (std::uint64_t rest = value >> 7; rest != 0; rest >>= 7) ++count;
    begin_ -= count;
    char* out = bytes_.get() + begin_;
    for (; value >= 128; value >>= 7) *out++ = static_cast<char>(value | 128U);
    *out = static_cast<char>(value);
  }
  // Room for two numbers and `count` bytes.
  void reserve(std::size_t count = 0) {
    if (begin_ < count + 20) grow(count + 20);
  }
  void grow(std::size_t count) {
    const std::size_t capacity = 2 * capacity_ + count + 256;
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size() > 0) std::memcpy(larger.get() + capacity - size(), view().data(), size());
    begin_ = capacity - size();
    capacity_ = capacity;
    bytes_ = std::move(larger);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // of what has been written
};

// Timelines for ui.perfetto.dev: a track a rank, collectives over the messages that they are made
// of, arrows from sends to receives, wait states inside the calls that wait.
//
// Numbers of fields are those of Perfetto's public protos, version 31 and later. Trace Processor
// sorts packets by time and keeps the order of those at one time; so what encloses something is
// always written before it.

// Writes events as they are played to it; what has been written can be taken at any time.
class PerfettoWriter : public Writer, public StateSink {
 public:
  // `ranks`: the name of each rank's track.
  PerfettoWriter(std::string_view title, const std::vector<std::string>& ranks);

  std::size_t ranks() const override { return tracks_.size(); }
  void begin(const OpenAction& action) override;
  void end(const OpenAction& action) override;
  void sent(const SentRecord& record, const OpenAction* action) override;
  void received(const MessageRecord& message, const OpenAction* action) override;
  void row(const StateRow& row) override;

  // An activity of a track, counted as the ranks are, for some time; slices of a track do not nest.
  void slice(std::int32_t track, std::string_view name, std::int64_t line, double begin,
             double end);

  // A track of numbers over time: each value holds from its time on.
  void counter(std::string_view name, std::string_view unit, std::span<const double> times,
               std::span<const double> values);

 private:
  struct Track {
    // A send whose message is not known yet, or a `nop`, which is shown only if it takes time.
    OpenAction held;
    bool holds = false;
    std::vector<std::int64_t> arrived;  // messages that the open action has received
  };
  static constexpr std::int64_t kNoArrow = -1;

  void write_names();
  // Each packet is begun, its contents are written, and it is finished as what it is.
  void begin_packet() { packet_.clear(); }
  void finish_track(std::uint64_t id);
  void finish_event(std::uint32_t type, std::uint64_t track, double time);
  void finish_packet();
  void annotate(std::uint32_t name, std::int64_t value);
  void write_begin(const OpenAction& action, std::int64_t message);
  // Writes the beginning of an action that was held back, if there is one.
  void write_held_begin(std::int32_t rank);

  std::vector<Track> tracks_;  // of each rank
  std::uint64_t counters_ = 0;
  std::unordered_set<std::int64_t> arrowless_;  // messages under way that no action sends
  ProtoMessage packet_;                         // scratch
};

// Makes a timeline of Perfetto smaller, by leaving out its short slices.

// Copies what `PerfettoWriter` has written so far, without the slices that are shorter than
// `shortest` ns. Slices that have not ended, and whatever is not a slice, are kept; so is the
// order. Throws std::system_error when a file cannot be read or written, std::runtime_error when
// the first is no such timeline.
void thin_perfetto(const std::string& from, const std::string& to, std::uint64_t shortest);

// The length of slices, in ns, for which `thin_perfetto` leaves `size` bytes of slices or less.
std::uint64_t shortest_perfetto_slice(const std::string& path, std::uint64_t size);

}  // namespace tisim
