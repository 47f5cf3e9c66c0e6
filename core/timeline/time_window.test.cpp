#include "timeline/time_window.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/test.hpp"

namespace tisim::test {
namespace {

// Writes down what it is told: the line of an action, the number of a message.
struct Told : Listener, StateSink {
  std::size_t ranks() const override { return kAnyRanks; }
  void begin(const OpenAction& action) override { add("begin", action.start.line); }
  void end(const OpenAction& action) override { add("end", action.start.line); }
  void sent(const SentRecord& record, const OpenAction* /*action*/) override {
    add("sent", record.message);
  }
  void received(const MessageRecord& message, const OpenAction* /*action*/) override {
    add("received", message.number);
  }
  void row(const StateRow& row) override { add("state", row.line); }

  void add(const std::string& what, std::int64_t number) {
    text += what + " " + std::to_string(number) + ", ";
  }
  std::string text;
};

OpenAction action_at(std::uint32_t line, double start, double end) {
  OpenAction action;
  action.start.time = start;
  action.start.line = line;
  action.start.operation = -1;
  action.end = end;
  return action;
}

// An action of rank 0 with a wait until its end, a message sent and one received.
void play_action(TimeWindow& window, std::uint32_t line, double start, double end) {
  const OpenAction action = action_at(line, start, end);
  window.begin(action);
  window.sent({line, 8, 0}, &action);
  StateRow row{};
  row.start = start;
  row.end = end;
  row.line = line;
  window.row(row);
  MessageRecord message;
  message.number = line - 1;
  window.received(message, &action);
  window.end(action);
}

std::string told(double begin, double end) {
  const auto listener = std::make_shared<Told>();
  TimeWindow window(listener, listener, begin, end);
  for (std::uint32_t line = 1; line <= 4; ++line) play_action(window, line, line - 1.0, line);
  return listener->text;
}

TEST("time window: whole actions that reach into it, and arrivals of messages that it has sent") {
  // The second begins before the window, the fourth where it ends.
  CHECK(told(1.5, 2.5) ==
        "begin 2, sent 2, state 2, end 2, begin 3, sent 3, state 3, received 2, end 3, ");
  CHECK(told(3.25, 9.0) == "begin 4, sent 4, state 4, end 4, ");
  CHECK(told(7.0, 9.0).empty());
}

TEST("time window: an action that ends where the window begins is not in it") {
  CHECK(told(2.0, 2.5) == "begin 3, sent 3, state 3, end 3, ");
}

}  // namespace
}  // namespace tisim::test
