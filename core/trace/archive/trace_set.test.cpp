#include "trace/archive/trace_set.hpp"

#include "core/test.hpp"
#include "core/trace_testing.hpp"

namespace tisim {

using test::file_of;
using test::files_of;
using test::read_all;

TEST("trace set: files in any order") {
  const auto set =
      TraceSet::open({file_of("2 compute 2\n", "a"), file_of("# x\n\n0 compute 0\n", "b"),
                      file_of("1 compute 1\n", "c")},
                     "set");
  CHECK(set->ranks() == 3);
  CHECK(set->file(0) == "b" && set->file(1) == "c" && set->file(2) == "a");
  CallTable calls;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    const std::vector<Op> ops = read_all(*set, rank, calls);
    CHECK(ops.size() == 1 && ops[0].amount == rank);
  }
  CHECK(set->bytes() == 12 + 17 + 12);
}

TEST("trace set: which ranks there must be") {
  CHECK_THROWS(TraceSet::open({}, "set"), TraceError, "set: has no trace file in it");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "2 init\n"}), "set"), TraceError,
               "set: rank 1 of 0 to 2 has no file");
  CHECK_THROWS(TraceSet::open(files_of({"5 init\n", "9 init\n"}), "set"), TraceError,
               "set: ranks 0, 1, 2, 3, 4, 6, 7, 8 of 0 to 9 have no file");
  CHECK_THROWS(TraceSet::open(files_of({"500 init\n", "0 init\n"}), "set"), TraceError, ", ... of");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "0 init\n"}), "set"), TraceError,
               "rank-1: is of rank 0, and so is rank-0");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "# nothing\n"}), "set"), TraceError,
               "rank-1: has no action in it");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "hello\n"}), "set"), TraceError,
               "rank-1:1: a line starts with the number of its rank, not with 'hello'");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", std::string("\x7f"
                                                                "ELF\0\1",
                                                                6)}),
                              "set"),
               TraceError, "rank-1:1: is not text: the byte 0x7f");
}

TEST("trace set: a recording that was cut off") {
  const std::string said = "# version: tisim record 1\n\n# incomplete: ranks 1\n";
  CHECK(TraceSet::open(files_of({said + "0 init\n", "1 init\n"}), "set")->is_cut());
  CHECK(TraceSet::open(files_of({"1 init\n", said + "0 init\n"}), "set")->is_cut());
  CHECK(TraceSet::open({file_of(said + "0 init\n1 init\n", "all")}, "all")->is_cut());
  CHECK(!TraceSet::open(files_of({"0 init\n" + said, said + "1 init\n"}), "set")->is_cut());
}

TEST("trace set: what is wrong with a line of a file of several ranks is said with its number") {
  const auto set = TraceSet::open({file_of("0 init\n1 init\n0 barrier\n1 sen\n0 x", "all")}, "all");
  CallTable calls;
  CHECK_THROWS(read_all(*set, 1, calls), TraceError, "all:4: there is no action 'sen', but send");
  CHECK_THROWS(read_all(*set, 0, calls), TraceError,
               "all:5: there is no action 'x'; the file ends");
  CHECK_THROWS(TraceSet::open({file_of("0 init\n2 init\n", "all")}, "all"), TraceError,
               "all: rank 1 of 0 to 2 has no line");
  CHECK_THROWS(TraceSet::open({file_of("0 init\n999999999 init\n", "all")}, "all"), TraceError,
               "all:2: is of rank 999999999, but");
  CHECK_THROWS(TraceSet::open({file_of("1 init\n", "all")}, "all"), TraceError,
               "all: rank 0 of 0 to 1 has no line");
  CHECK_THROWS(TraceSet::open({file_of("", "all")}, "all"), TraceError, "all: has no action");
}

TEST("trace set: a byte that marks lines inside is rubbish outside") {
  const auto set = TraceSet::open(files_of({"0 init\n\x02"
                                            "5\n0 init\n",
                                            "1 init\n"}),
                                  "set");
  CallTable calls;
  CHECK_THROWS(read_all(*set, 0, calls), TraceError, "rank-0:2: is not text: the byte 0x02");
}

TEST("trace set: a thousand ranks in one file, line by line") {
  std::string text;
  for (int step = 0; step < 5; ++step) {
    for (int rank = 0; rank < 1000; ++rank) {
      text += std::to_string(rank) + " compute " + std::to_string(step * 1000 + rank) + "\n";
    }
  }
  const auto set = TraceSet::open({file_of(text)}, "all");
  CHECK(set->ranks() == 1000);
  CallTable calls;
  for (const std::int32_t rank : {0, 1, 500, 999}) {
    const std::vector<Op> ops = read_all(*set, rank, calls);
    CHECK(ops.size() == 5);
    for (std::size_t step = 0; step < 5; ++step) {
      const std::size_t number = step * 1000 + static_cast<std::size_t>(rank);
      CHECK(ops[step].amount == static_cast<double>(number) && ops[step].line == number + 1);
    }
  }
}

TEST("trace set: the same files with other options") {
  const auto set = TraceSet::open(files_of({"0 recv -333 0 1\n", "1 init\n"}), "set");
  const auto other = set->with({.mistaken_null_is_any = false, .custom_actions = {"sen"}});
  CallTable calls;
  CHECK(read_all(*set, 0, calls)[0].peer == kAnySource);
  CHECK(read_all(*other, 0, calls)[0].peer == kProcNull);
  CHECK(other->ranks() == 2 && other->dialect() == set->dialect());
}

TEST("trace set: readers outlive the set's owner") {
  CallTable calls;
  std::unique_ptr<RankReader> reader =
      TraceSet::open(files_of({"0 compute 1\n", "1 init\n"}), "set")->open(0, calls);
  Op op;
  CHECK(reader->read(&op, 1) == 1 && op.amount == 1);
}

TEST("dialect: what decides it") {
  const auto dialect = [](const std::string& lines) {
    return TraceSet::open(files_of({"0 init\n" + lines, "1 init\n"}), "set")->dialect();
  };
  for (const char* modern :
       {"", "0 compute 5\n", "0 send 1 0 8 1\n", "0 send 1 0 1e6\n", "0 wait 0 1 0\n",
        "0 send 1 2 3\n", "# version: 1.0\n0 Isend 1 8\n", "0 bcast 1 comm=1\n",
        "0 Ssend 1 2 3\n0 waitAny 2\n", "0 Isend 1 5 100\n0 waitAll\n", "0 sendRecv 1 1 1 1\n",
        "0 nonsense 1 2\n"}) {
    CHECK(dialect(modern) == Dialect::modern);
  }
  for (const char* legacy : {"0 send 1 1e6\n", "0 recv 1\n", "0 wait\n", "0 allReduce 5 5\n",
                             "0 Isend 1 5 0\n", "0 compute 5\n0 waitAll\n"}) {
    CHECK(dialect(legacy) == Dialect::legacy);
  }
  const auto forced =
      TraceSet::open(files_of({"0 send 1 8\n", "1 init\n"}), "set", Dialect::modern);
  CHECK(forced->dialect() == Dialect::modern);
}

}  // namespace tisim
