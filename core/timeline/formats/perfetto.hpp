// Timelines in Perfetto's format, which is a protocol buffer, and the thinning of such timelines.
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

// The wire format of protocol buffers: numbered fields, each after a tag.

// A message written from its end to its beginning, so that the length of nested content is known
// when its header is written. Fields may be in any order.
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

  // Turns everything written since the size was `before` into a message field.
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
    begin_ -= sizeof value;  // little-endian, like the machines tisim runs on
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
  // Reserves room for two numbers and `count` bytes.
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
  std::size_t begin_ = 0;  // of the data
};

// Timelines for ui.perfetto.dev: one track per rank, collectives above the messages that implement
// them, arrows from sends to receives, wait states inside the waiting calls.
//
// Field numbers are those of Perfetto's public protos, version 31 and later. Trace Processor sorts
// packets by time and keeps the order of equal times, so enclosing slices are always written first.

// Writes events as they are played back; the output can be taken at any time.
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

  // An activity on a track, with tracks numbered like ranks; slices of a track do not nest.
  void slice(std::int32_t track, std::string_view name, std::int64_t line, double begin,
             double end);

  // A counter track: each value applies from its time on.
  void counter(std::string_view name, std::string_view unit, std::span<const double> times,
               std::span<const double> values);

 private:
  struct Track {
    // A send whose message is not known yet, or a `nop`, shown only if it takes time.
    OpenAction held;
    bool holds = false;
    std::vector<std::int64_t> arrived;  // messages received by the open action
  };
  static constexpr std::int64_t kNoArrow = -1;

  void write_names();
  // To write a packet: begin it, write its contents, and finish it with its type.
  void begin_packet() { packet_.clear(); }
  void finish_track(std::uint64_t id);
  void finish_event(std::uint32_t type, std::uint64_t track, double time);
  void finish_packet();
  void annotate(std::uint32_t name, std::int64_t value);
  void write_begin(const OpenAction& action, std::int64_t message);
  // Writes the start of an action that was held back, if any.
  void write_held_begin(std::int32_t rank);

  std::vector<Track> tracks_;  // of each rank
  std::uint64_t counters_ = 0;
  std::unordered_set<std::int64_t> arrowless_;  // messages in flight that no action sends
  ProtoMessage packet_;                         // scratch
};

// Shrinks a Perfetto timeline by leaving out its short slices.

// Copies the output of `PerfettoWriter` without the slices shorter than `shortest` ns. Unfinished
// slices and other packets are kept, and so is the order. Throws std::system_error if a file cannot
// be read or written, std::runtime_error if the input is not such a timeline.
void thin_perfetto(const std::string& from, const std::string& to, std::uint64_t shortest);

// The minimum slice length, in ns, for which `thin_perfetto` keeps at most `size` bytes of slices.
std::uint64_t shortest_perfetto_slice(const std::string& path, std::uint64_t size);

}  // namespace tisim
