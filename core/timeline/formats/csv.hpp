// Timelines as comma-separated values: one row per action, or one row per message.
#pragma once

#include "timeline/formats/text.hpp"

namespace tisim {

class ActionsCsv : public Writer {
 public:
  ActionsCsv();
  void end(const OpenAction& action) override;
};

// The timed trace of the literature: the actions and their durations.
class TimedCsv : public Writer {
 public:
  TimedCsv();
  void end(const OpenAction& action) override;
};

class MessagesCsv : public Writer {
 public:
  MessagesCsv();
  void received(const MessageRecord& message, const OpenAction* action) override;
  void lost(const MessageRecord& message) override { write(message); }

 private:
  void write(const MessageRecord& message);
};

}  // namespace tisim
