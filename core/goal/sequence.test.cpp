#include "goal/sequence.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include "core/test.hpp"

namespace tisim {

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

TEST("goal: a rank that no sequence of calls can say is refused") {
  CHECK_THROWS(sequence_of("calc 1 cpu 0\ncalc 1 cpu 1\n"), GoalError, "0 and 1 at once");
  CHECK_THROWS(taken(sequence_of("a: calc 1\na requires a\n"), 99), GoalError,
               "require one another");
}

}  // namespace tisim
