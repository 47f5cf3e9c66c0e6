// Timelines as rows of fixed size, which Python uses as arrays.
#pragma once

#include <cstdint>
#include <string_view>

#include "timeline/formats/text.hpp"
#include "timeline/states.hpp"

namespace tisim {

struct ActionRow {
  double start, end;   // seconds
  double volume;       // flops of a compute, seconds of a sleep, else 0
  std::int64_t bytes;  // -1: none
  std::int32_t rank, peer;
  std::uint32_t line;
  std::uint16_t comm;
  std::uint8_t kind;  // index in `kind_names`
};

// The row of a completed action of level 0.
ActionRow action_row(const OpenAction& action);

class ActionRows : public Writer {
 public:
  void end(const OpenAction& action) override;
};

class MessageRows : public Writer {
 public:
  void received(const MessageRecord& message, const OpenAction* action) override;
  void lost(const MessageRecord& message) override;
};

class StateRows : public StateSink {
 public:
  std::string_view written() const { return rows_.view(); }
  void clear() { rows_.clear(); }
  void row(const StateRow& row) override;

 private:
  Text rows_;
};

}  // namespace tisim
