// GOAL schedules: replay, conversion to the lines of a rank, and unmatched messages.
#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/test.hpp"
#include "goal/run.hpp"
#include "goal/sequence.hpp"
#include "goal/unmatched.hpp"

namespace tisim {

namespace {

constexpr std::string_view kExchange =
    "num_ranks 2\n"
    "rank 0 {\n a: calc 500\n s: send 8b to 1 tag 3\n s requires a\n r: recv 16b from 1 tag 4\n"
    " r irequires s\n e: calc 20 cpu 1\n e requires r\n}\n"
    "rank 1 {\n r: recv 8b from -1 tag -1 nic 0\n s: send 16 b to 0 tag 4\n s requires r\n}\n";

GoalRun run_of(std::string_view text) {
  auto schedule = std::make_shared<const GoalSchedule>(read_goal(text));
  const std::size_t ranks = schedule->ranks.size();
  return {std::move(schedule), nullptr, std::vector<std::int32_t>(ranks),
          std::vector<double>(ranks, 1e-9), nullptr};
}

}  // namespace

TEST("goal: operations begin when what they require allows it") {
  GoalRun run = run_of(kExchange);
  CHECK(run.run(1000) == Stop::done);
  CHECK(run.done() == 6);
  CHECK(run.unexpected() == 0);
  CHECK(test::close(run.ends()[0], 520e-9));
  CHECK(test::close(run.ends()[1], 500e-9));
}

TEST("goal: a processor that is busy serves the oldest first") {
  GoalRun run = run_of(
      "num_ranks 1\nrank 0 {\n a: calc 100\n b: calc 10\n c: calc 1\n d: calc 1000 cpu 1\n"
      " b requires c\n}\n");
  CHECK(run.run(1000) == Stop::done);
  CHECK(test::close(run.ends()[0], 1000e-9));
}

TEST("goal: whoever waits in a circle stands there") {
  GoalRun run = run_of("num_ranks 1\nrank 0 {\n a: calc 1\n b: recv 1b from 0\n a requires b\n}\n");
  CHECK(run.run(1000) == Stop::deadlock);
  const std::vector<GoalRun::PendingOperation> pending = run.pending_operations(9);
  CHECK(pending.size() == 2);
  CHECK(pending[0].has_begun && pending[0].line == 4);
  CHECK(!pending[1].has_begun && pending[1].line == 3);
}

TEST("goal: every beginning of a schedule is read or refused") {
  for (std::size_t size = 0; size <= kExchange.size(); ++size) {
    try {
      read_goal(kExchange.substr(0, size));
      CHECK(size + 1 >= kExchange.size());
    } catch (const GoalError&) {
      CHECK(size < kExchange.size());
    }
  }
}

TEST("goal: numbers outside their range are refused, with the line") {
  for (const std::string_view text :
       {"num_ranks 1\nrank -1 {\n}\n", "num_ranks 1\nrank 0 { calc 1 cpu -1\n}\n",
        "num_ranks 1\nrank 0 { send 1b to -1\n}\n", "num_ranks 1\nrank 0 { calc -5\n}\n"}) {
    std::size_t line = 0;
    try {
      read_goal(text);
    } catch (const GoalError& error) {
      line = error.line;
    }
    CHECK(line == 2);
  }
  for (const std::string_view text : {"num_ranks -1\n", "num_ranks 0\n", "num_ranks 16777216\n"}) {
    std::size_t line = 0;
    try {
      read_goal(text);
    } catch (const GoalError& error) {
      line = error.line;
    }
    CHECK(line == 1);  // and allocates nothing for that many ranks
  }
}

TEST("goal: an operation may take three hundred years") {
  GoalRun run = run_of(
      "num_ranks 1\nrank 0 {\n a: calc 9223372036854775807\n b: calc 5 cpu 1\n b requires a\n"
      " c: calc 7 cpu 1\n c requires b\n}\n");
  CHECK(run.run(1000) == Stop::done);
  CHECK(run.ends()[0] > 9.2e9);
}

namespace {

GoalSequence sequence_of(const std::string& rows, double speed = 1e9) {
  return {std::make_shared<const GoalSchedule>(read_goal("num_ranks 1\nrank 0 {\n" + rows + "}\n")),
          0, speed};
}

std::string taken(GoalSequence sequence, std::size_t bytes) {
  std::string all, piece;
  while (!(piece = sequence.take(bytes)).empty()) all += piece;
  return all;
}

}  // namespace

TEST("goal: the lines of a rank are the same in pieces of any size") {
  const std::string rows =
      "a: calc 5\nb: send 7b to 0\nb irequires a\nc: recv 7b from -1 tag -1\nd: calc 2\n"
      "d requires b\nd requires b\nd requires c\ne: send 1b to 0 tag 3\ne requires d\n";
  const std::string whole =
      "0 init\n0 irecv -555 -444 7 request=0\n0 isend 0 0 7 request=1\n0 compute 5\n"
      "0 waitall requests=1,0\n0 compute 2\n0 isend 0 3 1 request=0\n0 wait request=0\n"
      "0 finalize\n";
  CHECK(taken(sequence_of(rows), 1 << 20) == whole);
  CHECK(taken(sequence_of(rows), 1) == whole);
}

TEST("goal: volumes are whole numbers of any size, and none is lost") {
  const std::string rows = "a: calc 3\nb: calc 4\nb requires a\n";
  CHECK(taken(sequence_of(rows, 1e8), 99) == "0 init\n0 compute 1\n0 finalize\n");
  CHECK(taken(sequence_of("calc 1000000000\n", 1e23), 99) ==
        "0 init\n0 compute 99999999999999991611392\n0 finalize\n");
  CHECK_THROWS(taken(sequence_of("calc 9000000000000000000\n", 1e305), 99), GoalError,
               "rank 0 has a computation whose volume is infinite");
}

TEST("goal: the oldest that fits is taken, as a search through all would find it") {
  struct Entry {
    std::int32_t source, tag;
    std::uint32_t value;
  };
  std::mt19937 draw(7);
  const auto any_or = [&draw](std::int32_t most) {
    return static_cast<std::int32_t>(draw() % static_cast<std::uint32_t>(most + 2)) - 1;
  };
  const auto fits = [](std::int32_t wanted, std::int32_t offered) {
    return wanted == offered || wanted == kGoalAny || offered == kGoalAny;
  };
  Unmatched unmatched;
  std::vector<Entry> all;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const std::int32_t source = any_or(3), tag = any_or(2);
    if (draw() % 2 == 0 && all.size() < 40) {
      unmatched.add(source, tag, i);
      all.push_back({source, tag, i});
      continue;
    }
    const auto oldest = std::find_if(all.begin(), all.end(), [&](const Entry& entry) {
      return fits(entry.source, source) && fits(entry.tag, tag);
    });
    const auto taken = unmatched.take(source, tag);
    CHECK(taken.has_value() == (oldest != all.end()));
    if (oldest == all.end()) continue;
    CHECK(*taken == oldest->value);
    all.erase(oldest);
    CHECK(unmatched.size() == all.size());
  }
}

}  // namespace tisim
