// Timelines for ui.perfetto.dev: a track a rank, collectives over the messages that they are made
// of, arrows from sends to receives, wait states inside the calls that wait.
//
// Numbers of fields are those of Perfetto's public protos, version 31 and later. Trace Processor
// sorts packets by time and keeps the order of those at one time; so what encloses something is
// always written before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "timeline/formats/protobuf.hpp"
#include "timeline/formats/text.hpp"
#include "timeline/states.hpp"

namespace tisim {

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

}  // namespace tisim
