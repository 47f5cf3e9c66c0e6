#include "trace/text/reader.hpp"

#include <random>
#include <string>

#include "core/damaged_lines.hpp"
#include "core/reference_reading.hpp"
#include "core/test.hpp"
#include "trace/text/known_lines.hpp"

namespace tisim {

TEST("reader: batches of any size give the same operations") {
  std::mt19937 random(1);
  const std::string text = test::plain_text(random, 500);
  for (const std::size_t batch : {1U, 2U, 3U, 7U, 64U, 1000U}) {
    CHECK(test::reads_alike(text, 4, Dialect::modern, batch));
  }
}

TEST("reader: a file of many buffers, and lines longer than one") {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "0 send 1 " + std::to_string(i) + " 100\n";
  text += "0 compute " + std::string(600000, ' ') + "5\n0 compute 7\n";
  CHECK(test::reads_alike(text, 4, Dialect::modern, 256));
}

TEST("reader: damaged lines are read, or refused, as the parser does alone") {
  std::mt19937 random(20);
  for (int round = 0; round < 3000; ++round) {
    std::string text = test::plain_text(random, 1 + static_cast<int>(random() % 8));
    for (std::size_t i = 0; i <= random() % 3; ++i) test::mutate(text, random);
    const Dialect dialect = random() % 4 == 0 ? Dialect::legacy : Dialect::modern;
    const bool equal = test::reads_alike(text, 4, dialect, 1 + random() % 5);
    CHECK(equal);
    if (!equal) std::fprintf(stderr, "%s\n", text.c_str());
  }
}

TEST("reader: numbers of every length") {
  std::mt19937 random(3);
  std::string text;
  for (int digits = 1; digits <= 18; ++digits) {
    std::string number = "1";
    for (int i = 1; i < digits; ++i) number += static_cast<char>('0' + random() % 10);
    text += "0 compute " + number + "\n0 send 1 0 " + number + "\n0 recv 1 0 " + number + " 0\n";
    text += "0 compute " + number + ".25\n0 compute 0." + number + "\n0 compute " + number +
            "e+06\n0 compute " + number + "e-06\n";
  }
  CHECK(test::reads_alike(text, 4, Dialect::modern, 64));
}

TEST("reader: ranks of every length") {
  for (const std::int32_t rank : {0, 9, 10, 99, 12345, 1234567, 12345678, 123456789}) {
    const Vocabulary vocabulary({});
    const TraceGrammar grammar{.ranks = 1000000000, .vocabulary = &vocabulary};
    const std::string text = std::to_string(rank) + " compute 5\n" + std::to_string(rank) +
                             " send " + std::to_string(rank) + " 1 2\n";
    const TraceFile file = test::file_of(text);
    CallTable calls;
    TextReader reader(nullptr, grammar, rank, file, false, 4096, calls);
    Op ops[4];
    CHECK(reader.read(ops, 4) == 2);
    CHECK(ops[0].amount == 5 && ops[1].peer == rank && ops[1].line == 2);
    CHECK(reader.read(ops, 4) == 0 && reader.bytes_read() == text.size());
  }
}

TEST("reader: says what it made up for") {
  const auto set =
      TraceSet::open(test::files_of({"0 recv -333 0 1\n0 send 1 0 5 -1\n", "1 init\n"}), "sample");
  CallTable calls;
  const auto reader = set->open(0, calls);
  Op ops[4];
  CHECK(!reader->uses_mistaken_null() && !reader->uses_lost_type());
  CHECK(reader->read(ops, 4) == 2);
  CHECK(reader->uses_mistaken_null() && reader->uses_lost_type());
  CHECK(ops[1].bytes == 0 && reader->file() == "rank-0");
}

TEST("known lines: a line has the number of its first use") {
  KnownLines lines;
  bool is_new = false;
  CHECK(lines.number("0 send 1 1 8", is_new) == 0 && is_new);
  is_new = false;
  CHECK(lines.number("", is_new) == 1 && is_new);
  is_new = false;
  CHECK(lines.number("0 send 1 1 8", is_new) == 0 && !is_new);
  CHECK(lines.text(0) == "0 send 1 1 8" && lines.text(1).empty());
}

TEST("known lines: only the line that came here the last time is passed at once") {
  const std::string first = "0 irecv 12345678 1 2\n";
  const std::string second = "0 wait 1 0 1\n";
  const std::string rest(64, 'x');
  KnownLines lines;
  bool is_new = false;
  for (int i = 0; i < 3; ++i) {
    lines.number(std::string_view(first).substr(0, first.size() - 1), is_new);
    lines.number(std::string_view(second).substr(0, second.size() - 1), is_new);
  }
  const auto is_passed = [&](const std::string& text) {
    KnownLines copy = lines;
    const char* p = text.data();
    std::uint32_t number = 7;
    const bool passed = copy.pass_next(p, text.data() + text.size(), number);
    CHECK(p == text.data() + (passed ? first.size() : 0));
    return passed && number == 0;
  };
  CHECK(is_passed(first + rest));
  CHECK(!is_passed(first));                             // too short to compare at once
  CHECK(!is_passed(second + rest));                     // known, but not expected here
  CHECK(!is_passed("0 irecv 12345678 1 3\n" + rest));   // differs in the last byte
  CHECK(!is_passed("0 irecv 12345678 1 22\n" + rest));  // longer
  CHECK(!is_passed("0 irecv 12345678 1\n" + rest));     // shorter
}

TEST("known lines: many lines stay apart") {
  KnownLines lines;
  bool is_new = false;
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 5000; ++i) {
      CHECK(lines.number("0 send " + std::to_string(i) + " 1 8", is_new) == i);
    }
  }
}

}  // namespace tisim
