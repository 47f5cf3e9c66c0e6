#include "timeline/playback.hpp"

#include <memory>
#include <string>
#include <vector>

#include "core/test.hpp"
#include "timeline/formats/csv.hpp"
#include "timeline/formats/paje.hpp"
#include "timeline/formats/paraver.hpp"
#include "timeline/formats/perfetto.hpp"
#include "timeline/run_file/record_table.hpp"
#include "timeline/states.hpp"

namespace tisim::test {

namespace {

// Listeners that were made for one rank.
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
    playback.add(std::make_shared<ActionsCsv>());  // has room for any
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

}  // namespace

}  // namespace tisim::test
