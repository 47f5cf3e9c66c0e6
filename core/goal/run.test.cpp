#include "goal/run.hpp"

#include <memory>
#include <string>

#include "core/test.hpp"

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
  const std::vector<GoalRun::Standing> standing = run.standing(9);
  CHECK(standing.size() == 2);
  CHECK(standing[0].has_begun && standing[0].line == 4);
  CHECK(!standing[1].has_begun && standing[1].line == 3);
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
    CHECK(line == 1);  // and takes no memory for so many ranks
  }
}

TEST("goal: an operation may take three hundred years") {
  GoalRun run = run_of(
      "num_ranks 1\nrank 0 {\n a: calc 9223372036854775807\n b: calc 5 cpu 1\n b requires a\n"
      " c: calc 7 cpu 1\n c requires b\n}\n");
  CHECK(run.run(1000) == Stop::done);
  CHECK(run.ends()[0] > 9.2e9);
}

}  // namespace tisim
