// The records of a Paraver trace (.prv): states, events of MPI calls and wait states, messages.
//
// States, events and values have Extrae's numbers, so that Paraver's own configurations work.
// Records are sorted by time as far as a bounded window allows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/formats/text.hpp"
#include "timeline/states.hpp"

namespace tisim {

// Extrae's numbers for an MPI call.
struct ParaverCall {
  std::string_view name;  // in MPI; empty: not a call
  std::int32_t type = 0;  // of the event
  std::int32_t value = 0;
  std::int32_t state = 0;  // of a rank in the call that does not compute
};
// Indexed like `kind_names`.
const std::vector<ParaverCall>& paraver_calls();

// Extrae's event types for collectives: bytes, whether the rank is the root, and a number of the
// communicator.
inline constexpr std::int32_t kParaverSendSize = 50100001;
inline constexpr std::int32_t kParaverReceiveSize = 50100002;
inline constexpr std::int32_t kParaverRoot = 50100003;
inline constexpr std::int32_t kParaverCommunicator = 50100004;

inline constexpr std::int32_t kParaverWaitState = 91000001;  // value: index in `state_names`
inline constexpr std::int32_t kParaverCause = 91000002;      // value: the rank, counted from 1

class ParaverWriter : public Writer, public StateSink {
 public:
  // `cpus`: each rank's processor, counted from 1. `window`: number of records kept for sorting.
  ParaverWriter(std::span<const std::int32_t> cpus, std::size_t window);

  std::size_t ranks() const override { return locations_.size(); }
  void begin(const OpenAction& action) override;
  void end(const OpenAction& action) override;
  void received(const MessageRecord& message, const OpenAction* action) override;
  void row(const StateRow& row) override;
  std::string_view written(bool last) override;

  // Records that were too late for the window and belong before records already written.
  std::string_view late() const { return late_text_.view(); }
  void clear_late() { late_text_.clear(); }

 private:
  struct Line {
    std::int64_t time;          // nanoseconds
    std::uint32_t begin, size;  // in `lines_text_`
  };
  std::string_view location(std::int32_t rank) const {
    return locations_[static_cast<std::size_t>(rank)];
  }
  std::string_view text_of(const Line& line) const {
    return lines_text_.view().substr(line.begin, line.size);
  }
  // Completes the line written since `begin_`.
  void end_line(std::int64_t time);
  void call(const ActionStart& start, double time, const ParaverCall& call, std::int32_t value);
  void wait(std::int32_t rank, std::int64_t time, std::int32_t state, std::int32_t cause);

  std::vector<std::string> locations_;  // by rank: processor:application:task:thread:
  std::size_t window_;
  Text lines_text_, late_text_;
  std::size_t begin_ = 0;                // of the current line in `lines_text_`
  std::vector<Line> in_order_, others_;  // unwritten lines: sorted by time, and the rest
  std::int64_t newest_ = 0;              // the time of the last record written
};

}  // namespace tisim
