// The records of a Paraver trace (.prv): states, events of MPI calls and wait states, messages.
//
// States, events and values are numbered as Extrae numbers them, so that Paraver's own
// configurations work. Records are sorted by time as far as a bounded window allows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/states.hpp"
#include "timeline/text.hpp"

namespace tisim {

// How Extrae numbers an MPI call.
struct ParaverCall {
  std::string_view name;  // in MPI; empty: it is no call
  std::int32_t type = 0;  // of the event
  std::int32_t value = 0;
  std::int32_t state = 0;  // of a rank that is in it and does not compute
};
// By place in `kind_names`.
const std::vector<ParaverCall>& paraver_calls();

inline constexpr std::int32_t kParaverWaitState = 91000001;  // value: place in `state_names`
inline constexpr std::int32_t kParaverCause = 91000002;      // value: the rank, from 1

class ParaverWriter : public Writer, public StateSink {
 public:
  // `cpus`: the number of each rank's processor, from 1. `window`: records that are sorted.
  ParaverWriter(std::span<const std::int32_t> cpus, std::size_t window);

  void begin(const OpenAction& action) override;
  void end(const OpenAction& action) override;
  void received(const MessageRecord& message, const OpenAction* action) override;
  void row(const StateRow& row) override;
  std::string_view written(bool last) override;

  // Records that came too late for the window and stand behind later ones.
  std::size_t late() const { return late_; }

 private:
  struct Line {
    std::int64_t time;       // nanoseconds
    std::size_t begin, end;  // in `lines_text_`
  };
  Text& place(std::int32_t rank);
  void event(std::int32_t rank, std::int64_t time, std::int32_t type, std::int64_t value);
  void add(std::int64_t time, std::size_t begin);

  std::vector<std::int32_t> cpus_;
  std::size_t window_;
  Text lines_text_;
  std::vector<Line> lines_;
  std::int64_t newest_ = 0;  // the time of the last record that has been written
  std::size_t late_ = 0;
};

}  // namespace tisim
