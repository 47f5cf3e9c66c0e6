#include "trace/archive/trace_set.hpp"

#include <random>

#include "core/damaged_lines.hpp"
#include "core/packed_testing.hpp"
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
  CHECK_THROWS(TraceSet::open({}, "set"), TraceError, "set: contains no trace file");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "2 init\n"}), "set"), TraceError,
               "set: rank 1 of 0 to 2 has no file");
  CHECK_THROWS(TraceSet::open(files_of({"5 init\n", "9 init\n"}), "set"), TraceError,
               "set: ranks 0, 1, 2, 3, 4, 6, 7, 8 of 0 to 9 have no file");
  CHECK_THROWS(TraceSet::open(files_of({"500 init\n", "0 init\n"}), "set"), TraceError, ", ... of");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "0 init\n"}), "set"), TraceError,
               "rank-1: is of rank 0, and so is rank-0");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "# nothing\n"}), "set"), TraceError,
               "rank-1: contains no action");
  CHECK_THROWS(TraceSet::open(files_of({"0 init\n", "hello\n"}), "set"), TraceError,
               "rank-1:1: a line must start with the number of its rank, not with 'hello'");
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
  CHECK_THROWS(read_all(*set, 1, calls), TraceError, "all:4: unknown action 'sen', but send");
  CHECK_THROWS(read_all(*set, 0, calls), TraceError, "all:5: unknown action 'x'; the file ends");
  CHECK_THROWS(TraceSet::open({file_of("0 init\n2 init\n", "all")}, "all"), TraceError,
               "all: rank 1 of 0 to 2 has no line");
  CHECK_THROWS(TraceSet::open({file_of("0 init\n999999999 init\n", "all")}, "all"), TraceError,
               "all:2: is of rank 999999999, but");
  CHECK_THROWS(TraceSet::open({file_of("1 init\n", "all")}, "all"), TraceError,
               "all: rank 0 of 0 to 1 has no line");
  CHECK_THROWS(TraceSet::open({file_of("", "all")}, "all"), TraceError, "all: contains no action");
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

using test::Scratch;

namespace {

std::shared_ptr<const TraceSet> open_packed(const std::string& bytes) {
  return TraceSet::open({test::file_of(bytes, "packed.tit")}, "packed.tit");
}

// Reads and unpacks all of it; returns the error.
std::string error_of(const std::string& bytes, const Scratch& scratch) {
  try {
    const auto set = open_packed(bytes);
    CallTable calls;
    for (std::int32_t rank = 0; rank < set->ranks(); ++rank) test::read_all(*set, rank, calls);
    std::filesystem::create_directory(scratch.file("out"));
    unpack(test::file_of(bytes, "packed.tit"), scratch.file("out"));
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

const std::vector<std::string>& plain_texts() {
  static const std::vector<std::string> texts = {
      "# a comment\n\n0 init\n0 compute 5\n0 compute 1.59373e+06\n0 compute 956140.000000\n"
      "0 compute 1e3\n0  send 1 0 5\n0 send 1 0 5\n0 send 1 0 5\n0 allreduce 1 5\n0 allreduce 1 5\n"
      "0 sendRecv 1 1 1 1\n0 sendRecv 1 1 1 1\n0 init 1\n0 send 1 0 5\n0 send 1 0 5 #x\n0 finalize",
      "1 init \r\n\t1 recv 0 0 5\n1 recv 0 0 5\n1 Bcast 5 0 1 \n\n1 compute "
      "99999999999999999999\n"};
  return texts;
}

}  // namespace

TEST("pack: the text comes back byte for byte") {
  const Scratch scratch;
  for (const auto& texts :
       std::vector<std::vector<std::string>>{plain_texts(),
                                             {"0 init"},
                                             {"0 init\n", "1 init"},
                                             {"1 barrier\n\n", "0 x\n"},
                                             {"# c\n0 a\n1 b\n1 compute 5\n\n0 c\n2 d\n#e"}}) {
    const std::string bytes = test::packed(texts, scratch);
    CHECK(test::unpacked(bytes, texts.size(), scratch) == texts);
  }
}

TEST("pack: the operations are those of the text") {
  const Scratch scratch;
  const auto text = TraceSet::open(test::files_of(plain_texts()), "text");
  const auto packed = open_packed(test::packed(plain_texts(), scratch));
  CHECK(packed->ranks() == 2 && packed->dialect() == Dialect::modern);
  CHECK(packed->file(1) == "packed.tit/rank-1");
  CHECK(packed->actions() == 21 && !text->actions());
  for (const std::size_t batch : {1U, 2U, 5U, 100U}) {
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      CHECK(test::outcome_of_reader(*packed, rank, batch) ==
            test::outcome_of_reader(*text, rank, batch));
    }
  }
  CallTable calls;
  const auto reader = packed->open(0, calls);
  Op ops[64];
  while (reader->read(ops, 64) > 0) continue;
  CHECK(reader->bytes_read() > 0 && reader->bytes_read() < packed->bytes());
}

TEST("pack: damaged lines are read, or refused, as in the text, and come back") {
  const Scratch scratch;
  std::mt19937 random(4);
  for (int round = 0; round < 400; ++round) {
    std::string text = test::plain_text(random, 1 + static_cast<int>(random() % 12));
    for (std::size_t i = 0; i <= random() % 3; ++i) test::mutate(text, random);
    const std::vector<std::string> texts = {"0 init\n" + text, "1 init\n"};
    const std::string bytes = test::packed(texts, scratch, Dialect::modern);
    CHECK(test::unpacked(bytes, 2, scratch) == texts);
    const auto plain = TraceSet::open(test::files_of(texts), "text", Dialect::modern);
    test::Outcome expected = test::outcome_of_reader(*plain, 0, 3);
    if (!expected.error.empty()) expected.error.insert(0, "packed.tit/");
    CHECK(test::outcome_of_reader(*open_packed(bytes), 0, 3) == expected);
  }
}

TEST("pack: lines of one file of several ranks keep their numbers") {
  const Scratch scratch;
  const std::string merged =
      "# c\n0 a 5\n1 send 0 0 1\n1 compute 5\n\n0 c\n2 d\n#e\n1 send 0 0 1\n1 x\n";
  const auto set = open_packed(test::packed({merged}, scratch));
  CallTable calls;
  CHECK_THROWS(test::read_all(*set, 0, calls), TraceError,
               "packed.tit/rank-0:2: unknown action 'a'");
  CHECK_THROWS(test::read_all(*set, 1, calls), TraceError,
               "packed.tit/rank-0:10: unknown action 'x'");
}

TEST("pack: thousands of different lines, more than there are slots") {
  const Scratch scratch;
  std::string text;
  std::mt19937 random(7);
  for (int i = 0; i < 30000; ++i) {
    text += "0 send 1 " + std::to_string(random() % 9000) + " 100\n";
    if (i % 100 == 0) text += "0 compute " + std::to_string(random()) + "\n";
    if (i == 20000) text += "0 init 1\n";
  }
  const std::vector<std::string> texts = {text, "1 init\n"};
  const std::string bytes = test::packed(texts, scratch);
  CHECK(test::unpacked(bytes, 2, scratch) == texts);
  const auto expected = TraceSet::open(test::files_of(texts), "text");
  CHECK(test::outcome_of_reader(*open_packed(bytes), 0, 256) ==
        test::outcome_of_reader(*expected, 0, 256));
}

TEST("pack: lines that are one more each time, rules in rules") {
  const Scratch scratch;
  std::string text = "0 init\n";
  for (int last = 1; last <= 200; ++last) {
    for (int line = 0; line < last; ++line) {
      text += std::string("# ") + static_cast<char>('a' + line / 20) +
              static_cast<char>('a' + line % 20) + "\n";
    }
  }
  CHECK(test::unpacked(test::packed({text}, scratch), 1, scratch) == std::vector{text});
}

TEST("pack: a line longer than a block") {
  const Scratch scratch;
  const std::vector<std::string> texts = {"0 init\n0 compute " + std::string(200000, ' ') +
                                              "5\n0 bcast 5\n# " + std::string(100000, 'x') +
                                              "\n0 init",
                                          "1 init\n"};
  const std::string bytes = test::packed(texts, scratch);
  CHECK(test::unpacked(bytes, 2, scratch) == texts);
  CHECK(error_of(bytes, scratch).empty());
}

TEST("pack: a damaged byte is noticed wherever it is") {
  const Scratch scratch;
  const std::string bytes =
      test::packed({"0 init\n0 compute 5\n0 send 1 0 5\n", "1 init\n1 recv 0 0 5\n"}, scratch,
                   Dialect::automatic);
  CHECK(error_of(bytes, scratch).empty());
  for (std::size_t at = tit::kMagic.size(); at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const std::string error = error_of(damaged, scratch);
    const bool version = at >= tit::kMagic.size() && at < tit::kMagic.size() + 4;
    CHECK(error.find(version ? "packed.tit: is a packed trace of version"
                             : "packed.tit: is damaged: ") == 0);
  }
}

TEST("pack: files outside the directory are refused") {
  const Scratch scratch;
  for (const char* name : {"../x", "/tmp/x", "a/../../x"}) {
    PackInput input;
    input.files = test::files_of({"0 init\n"});
    input.names = {name};
    pack(input, scratch.file("packed.tit"));
    CHECK(error_of(test::content_of(scratch.file("packed.tit")), scratch)
              .find("leads outside the directory") != std::string::npos);
  }
}

TEST("pack: another version is refused, and what is not packed") {
  const Scratch scratch;
  std::string bytes = test::packed({"0 init\n"}, scratch);
  bytes[tit::kMagic.size()] = 3;
  CHECK(error_of(bytes, scratch) ==
        "packed.tit: is a packed trace of version 3, but this tisim reads version 2; get a newer "
        "tisim");
  bytes[tit::kMagic.size()] = 1;
  CHECK(error_of(bytes, scratch) ==
        "packed.tit: is a packed trace of version 1, but this tisim reads version 2; pack the "
        "trace again");
  CHECK_THROWS(unpack(test::file_of("0 init\n", "x.tit"), scratch.file("out")), TraceError,
               "x.tit: is not a packed trace");
}

}  // namespace tisim
