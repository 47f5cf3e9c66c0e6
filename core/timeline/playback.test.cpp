#include "timeline/playback.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/test.hpp"
#include "timeline/formats/csv.hpp"
#include "timeline/formats/paje.hpp"
#include "timeline/formats/paraver.hpp"
#include "timeline/formats/perfetto.hpp"
#include "timeline/run_file/record_table.hpp"
#include "timeline/states.hpp"
#include "timeline/time_window.hpp"
#include "timeline/wait_causes.hpp"

namespace tisim::test {

namespace {

// Listeners with room for one rank.
std::vector<std::shared_ptr<Listener>> listeners_of_one_rank() {
  const std::vector<std::int32_t> cpus = {1};
  const auto states = std::make_shared<States>();
  states->add(std::make_shared<StateTable>(1));
  return {std::make_shared<ActionTable>(1),
          std::make_shared<PerfettoWriter>("title", std::vector<std::string>{"rank 0"}),
          std::make_shared<PajeWriter>(1), std::make_shared<ParaverWriter>(cpus, 16), states};
}

// An event of each kind between two ranks.
std::vector<Records> events_of(std::int32_t rank, std::int32_t other) {
  std::vector<Records> all(6);
  ActionStart action{};
  action.rank = rank;
  action.kind = static_cast<std::uint8_t>(Kind::compute);
  action.operation = -1;
  all[0].order = {Entry::action};
  all[0].actions = {action};
  all[1].order = {Entry::state};
  all[1].states = {{0.0, 1.0, rank, 0}};
  all[2].order = {Entry::wait};
  all[2].states = {{0.0, 1.0, 0, 0}};
  WaitRecord wait{};
  wait.source = rank;
  wait.destination = other;
  all[2].waits = {wait};
  all[3].order = {Entry::sent};
  all[3].sent = {{0, 8, rank}};
  MessageRecord message;
  message.source = rank;
  message.destination = other;
  all[4].order = {Entry::received};
  all[5].order = {Entry::lost};
  all[4].messages = all[5].messages = {message};
  return all;
}

std::string refusal(Playback& playback, const Records& records) {
  try {
    playback.play(records);
  } catch (const UnknownRank& error) {
    return error.what();
  }
  return "it is played";
}

TEST("playback: no event is played of a rank that a listener has no room for") {
  for (const std::shared_ptr<Listener>& listener : listeners_of_one_rank()) {
    Playback playback;
    playback.add(std::make_shared<ActionsCsv>());  // room for any rank
    playback.add(listener);
    for (const Records& records : events_of(0, 0)) playback.play(records);
    for (const std::int32_t rank : {1, -1, 1 << 30}) {
      const std::string text =
          "an event is of rank " + std::to_string(rank) +
          ", but the timeline has 1 ranks; make it for all ranks of the simulation";
      for (const Records& records : events_of(rank, 0)) CHECK(refusal(playback, records) == text);
      for (const std::size_t with_two : {2, 4, 5}) {
        CHECK(refusal(playback, events_of(0, rank)[with_two]) == text);
      }
    }
  }
}

TEST("playback: without a limit all ranks are played") {
  Playback playback;
  playback.add(std::make_shared<ActionsCsv>());
  for (const Records& records : events_of(5, 1 << 20)) playback.play(records);
  CHECK_THROWS(playback.play(events_of(-1, 0)[0]), UnknownRank, "rank -1");
}

// Records its notifications: the line of an action, the number of a message.
struct EventRecorder : Listener, StateSink {
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

std::string events_between(double begin, double end) {
  const auto listener = std::make_shared<EventRecorder>();
  TimeWindow window(listener, listener, begin, end);
  for (std::uint32_t line = 1; line <= 4; ++line) play_action(window, line, line - 1.0, line);
  return listener->text;
}

TEST("time window: whole actions that reach into it, and arrivals of messages that it has sent") {
  // The second action begins before the window, the fourth where it ends.
  CHECK(events_between(1.5, 2.5) ==
        "begin 2, sent 2, state 2, end 2, begin 3, sent 3, state 3, received 2, end 3, ");
  CHECK(events_between(3.25, 9.0) == "begin 4, sent 4, state 4, end 4, ");
  CHECK(events_between(7.0, 9.0).empty());
}

TEST("time window: an action that ends where the window begins is not in it") {
  CHECK(events_between(2.0, 2.5) == "begin 3, sent 3, state 3, end 3, ");
}

StateRow state_of(std::int32_t rank, State state, double start, double end) {
  StateRow row{};
  row.start = start;
  row.end = end;
  row.started = kNoTime;
  row.rank = rank;
  row.cause = row.peer = -1;
  row.state = static_cast<std::uint8_t>(state);
  return row;
}

// A rank waits until `from` sends.
StateRow wait_of(std::int32_t rank, std::int32_t from, double start, double end) {
  StateRow row = state_of(rank, State::late_sender, start, end);
  row.cause = from;
  return row;
}

double sum(const std::vector<CauseShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0,
                         [](double all, const CauseShare& share) { return all + share.seconds; });
}

}  // namespace

TEST("a wait is due to what the late rank computes longer") {
  const std::vector<StateRow> states{
      state_of(1, State::compute, 0.0, 2.0),
      state_of(0, State::compute, 0.0, 5.0),
      wait_of(1, 0, 2.0, 5.0),
  };
  const WaitCauses causes(states, 2);
  const auto shares = causes.of(2);
  CHECK(shares.size() == 1);
  CHECK(shares[0].row == 1);
  CHECK(shares[0].state == static_cast<std::uint8_t>(State::compute));
  CHECK(shares[0].seconds == 3.0);
  CHECK(causes.of(0).empty());  // no wait
}

TEST("a rank that waited itself is not the cause") {
  // Rank 0 computes for a long time, rank 1 waits for it, and rank 2 for rank 1.
  const std::vector<StateRow> states{
      state_of(1, State::compute, 0.0, 1.0), state_of(2, State::compute, 0.0, 2.0),
      state_of(0, State::compute, 0.0, 6.0), wait_of(1, 0, 1.0, 6.0),
      state_of(1, State::compute, 6.0, 7.0), wait_of(2, 1, 2.0, 7.0),
  };
  const WaitCauses causes(states, 3);
  const auto shares = causes.of(5);
  CHECK(sum(shares) == 5.0);
  const auto most = *std::max_element(
      shares.begin(), shares.end(),
      [](const CauseShare& a, const CauseShare& b) { return a.seconds < b.seconds; });
  CHECK(most.row == 2);
  CHECK(most.seconds == 5.0);  // the second spent by rank 1 cancels with one of rank 2
  CHECK(causes.late_path(5).back() == 2);
}

TEST("equal computations on both paths cancel") {
  // Both compute for 10 s; the 1 s before is the difference of rank 0.
  const std::vector<StateRow> states{
      state_of(0, State::overhead, 0.0, 1.0),
      state_of(1, State::compute, 0.0, 10.0),
      state_of(0, State::compute, 1.0, 11.0),
      wait_of(1, 0, 10.0, 11.0),
  };
  const auto shares = WaitCauses(states, 2).of(3);
  CHECK(shares.size() == 1);
  CHECK(shares[0].row == 0);
  CHECK(shares[0].seconds == 1.0);
}

TEST("sums of causes add up to the waits of all ranks") {
  const std::vector<StateRow> states{
      state_of(1, State::compute, 0.0, 2.0),
      state_of(2, State::compute, 0.0, 3.0),
      state_of(0, State::compute, 0.0, 5.0),
      wait_of(1, 0, 2.0, 5.0),
      wait_of(2, 0, 3.0, 5.0),
  };
  const WaitCauses causes(states, 3);
  const CauseSums sums = causes.sums();
  CHECK(sums.by_row[2].seconds == 5.0);
  CHECK(sums.by_row[2].ranks == 2);
  CHECK(sums.by_rank[static_cast<int>(State::compute)].seconds == 5.0);  // of rank 0
  CHECK(sums.explained.size() == 2);
  CHECK(sums.explained[0].seconds == 3.0);  // rank 1 first
  CHECK(sums.explained[1].wait == 4);
}

}  // namespace tisim::test
