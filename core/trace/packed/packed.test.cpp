// Packed traces: structure, sections of future versions, damage under valid checksums.
#include <algorithm>
#include <random>

#include "core/packed_testing.hpp"
#include "core/section_fuzzing.hpp"
#include "core/test.hpp"
#include "trace/inspect/inspection.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

using test::Scratch;

namespace {

std::string compressed(const std::vector<std::string>& texts, const Scratch& scratch) {
  return test::packed(texts, scratch);
}

// The sections of a file with their contents.
std::vector<tit::Section> sections_of(const std::string& bytes) {
  const test::TextSource source(bytes);
  std::vector<tit::Section> sections = tit::read_container(source);
  for (tit::Section& section : sections) section.bytes = tit::read_section(source, section);
  return sections;
}

std::shared_ptr<const TraceSet> opened(const std::string& bytes) {
  return TraceSet::open({test::file_of(bytes, "x.tit")}, "x.tit");
}

// Reads and unpacks all of it; returns the error.
std::string error_of_reading(const std::string& bytes, const Scratch& scratch) {
  try {
    const auto set = opened(bytes);
    CallTable calls;
    for (std::int32_t rank = 0; rank < std::min(set->ranks(), 8); ++rank) {
      test::read_all(*set, rank, calls);
    }
    std::filesystem::create_directory(scratch.file("damaged"));
    unpack(test::file_of(bytes, "x.tit"), scratch.file("damaged"));
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

// Checks that the operations of each rank equal those of the texts.
void check_reading(const std::vector<std::string>& texts, const std::string& bytes) {
  const auto plain = TraceSet::open(test::files_of(texts), "text");
  const auto set = opened(bytes);
  CHECK(set->ranks() == plain->ranks());
  for (std::int32_t rank = 0; rank < set->ranks(); ++rank) {
    for (const std::size_t batch : {1U, 2U, 3U, 8U, 300U}) {
      test::Outcome expected = test::outcome_of_reader(*plain, rank, batch);
      if (!expected.error.empty()) expected.error.insert(0, "x.tit/");
      CHECK(test::outcome_of_reader(*set, rank, batch) == expected);
    }
  }
}

// Ranks in a ring, with computations of `volumes` different sizes.
std::vector<std::string> ring(int ranks, int iterations, unsigned volumes, unsigned sizes = 1) {
  std::vector<std::string> texts;
  std::mt19937 random(5);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string prefix = std::to_string(rank) + " ";
    const std::string next = std::to_string((rank + 1) % ranks);
    const std::string before = std::to_string((rank + ranks - 1) % ranks);
    std::string text = prefix + "init\n";
    for (int i = 0; i < iterations; ++i) {
      text += prefix + "compute " + std::to_string(1000 + random() % volumes) + "\n";
      const std::string size = std::to_string(64 + random() % sizes);
      text += prefix + "irecv " + before + " 1 " + size + "\n";
      text += prefix + "isend " + next + " 1 " + size + "\n";
      text += prefix + "wait " + before + " " + std::to_string(rank) + " 1\n";
      text += prefix + "waitall\n" + prefix + "allreduce 8 100\n";
      if (i % 7 == 0) text += prefix + "compute 5\n" + prefix + "compute 1e6\n";
    }
    texts.push_back(text + prefix + "compute 77\n" + prefix + "finalize\n");
  }
  return texts;
}

// Ranks that exchange messages with partners drawn once, in an inner loop that is too long to be
// expanded.
std::vector<std::string> partners(int ranks, unsigned volumes) {
  std::vector<std::string> texts;
  std::mt19937 random(7);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string prefix = std::to_string(rank) + " ";
    const std::string partner = std::to_string(random() % static_cast<unsigned>(ranks));
    std::string text = prefix + "init\n";
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 150; ++k) {
        if (random() % 3 > 0) {
          text += prefix + "compute " + std::to_string(1 + random() % volumes) + "\n";
        }
        text += prefix + "send " + partner + " 1 64\n" + prefix + "recv " + partner + " 1 64\n";
        text += prefix + "sendrecv 8 0 8 " + partner + "\n";
      }
      text += prefix + "barrier\n";
    }
    texts.push_back(text + prefix + "finalize\n");
  }
  return texts;
}

// Ranks without common lines.
std::vector<std::string> noise(int first, int ranks) {
  std::vector<std::string> texts;
  std::mt19937 random(9);
  for (int rank = first; rank < first + ranks; ++rank) {
    const std::string prefix = std::to_string(rank) + " ";
    std::string text;
    for (int i = 0; i < 400; ++i) {
      const std::string number = std::to_string(random() % 100000);
      const std::string peer = std::to_string(random() % 8);
      switch (random() % 3) {
        case 0:
          text += prefix + "compute " + number + "\n";
          break;
        case 1:
          text += prefix + "isend " + peer + " " + std::to_string(random() % 9) + " " + number;
          text += "\n";
          break;
        default:
          text += prefix + "allreduce " + number + " " + std::to_string(random() % 77) + "\n";
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> together(std::vector<std::string> some,
                                  const std::vector<std::string>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

}  // namespace

TEST("compressed: programs of every kind of column come back and are read as their text") {
  for (const auto& texts : {ring(4, 30, 1), ring(5, 200, 100000), ring(3, 400, 50),
                            ring(4, 400, 1, 100000), ring(2, 300, 1000, 1000), partners(9, 1),
                            partners(9, 5000), together(ring(4, 30, 9), noise(4, 4))}) {
    const Scratch scratch;
    const std::string bytes = compressed(texts, scratch);
    CHECK(test::unpacked(bytes, texts.size(), scratch) == texts);
    check_reading(texts, bytes);
  }
}

TEST("compressed: ranks with structure and ranks without take no more room together than apart") {
  const Scratch scratch;
  const std::vector<std::string> regular = ring(4, 300, 1);
  const std::vector<std::string> random = noise(4, 4);
  const std::vector<std::string> first = {"0 init\n", "1 init\n", "2 init\n", "3 init\n"};
  const std::vector<std::string> last = {"4 init\n", "5 init\n", "6 init\n", "7 init\n"};
  const std::vector<std::string> both = together(regular, random);
  const std::size_t size = compressed(both, scratch).size();
  CHECK(size <= compressed(together(regular, last), scratch).size() +
                    compressed(together(first, random), scratch).size());
}

TEST("compressed: iterations and ranks cost next to nothing") {
  const Scratch scratch;
  const std::size_t small = compressed(ring(16, 20, 1), scratch).size();
  CHECK(compressed(ring(16, 2000, 1), scratch).size() <= small + 24);
  CHECK(compressed(ring(64, 20, 1), scratch).size() <= small + 24);
}

TEST("compressed: a reader stops at the turns of a loop and leaves repetitions out") {
  const Scratch scratch;
  std::string text = "0 init\n";
  for (int i = 0; i < 100; ++i) text += "0 sleep 5\n0 sleep 6\n";
  const auto set = opened(compressed({text + "0 finalize\n"}, scratch));
  CallTable calls;
  const auto reader = set->open(0, calls);
  CHECK(reader->stop_at_loops());
  Op ops[64];
  CHECK(!reader->next_turn());
  CHECK(reader->read(ops, 64) == 1 && (ops[0].flags & kIsInit) != 0);
  const auto is_turn = [&](std::uint64_t left, std::uint64_t line) {
    const auto turn = reader->next_turn();
    return turn && turn->remaining == left && turn->line == line;
  };
  CHECK(is_turn(100, 1));
  CHECK(!reader->next_turn());  // each one once
  CHECK(reader->read(ops, 64) == 2 && ops[1].amount == 6 && ops[1].line == 3);
  CHECK(is_turn(99, 3));
  reader->skip_repetitions(90);
  CHECK(reader->read(ops, 64) == 2 && ops[0].amount == 5 && ops[0].line == 184);
  CHECK(is_turn(8, 185));
  reader->skip_repetitions(8);
  CHECK(is_turn(0, 201));
  CHECK(reader->read(ops, 64) == 1 && ops[0].line == 202);
  CHECK((ops[0].flags & kIsFinalize) != 0);
  CHECK(!reader->next_turn() && reader->read(ops, 64) == 0);
}

TEST("compressed: a reader reads on over turns at which it does not stop") {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "0 sleep 5\n0 sleep 6\n";
  const auto set = opened(compressed({text + "0 finalize\n"}, scratch));
  CallTable calls;
  const auto reader = set->open(0, calls);
  CHECK(reader->stop_at_loops());
  Op ops[64];
  reader->set_stops_at_turns(false);
  CHECK(!reader->next_turn());
  CHECK(reader->read(ops, 64) == 64 && ops[63].line == 64);
  reader->set_stops_at_turns(true);
  const auto turn = reader->next_turn();
  CHECK(turn && turn->remaining == 68 && turn->line == 64 && !turn->is_first);
  CHECK(reader->read(ops, 64) == 2 && ops[1].line == 66);
  CHECK(reader->next_turn());
  reader->skip_repetitions(60);
  CHECK(reader->read(ops, 64) == 2 && ops[0].line == 187);
}

TEST("compressed: who does not ask for the turns of a loop reads on") {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "0 sleep 5\n0 sleep 6\n";
  const auto set = opened(compressed({text}, scratch));
  CallTable calls;
  const auto reader = set->open(0, calls);
  reader->stop_at_loops();
  Op ops[64];
  std::size_t all = 0;
  while (const std::size_t count = reader->read(ops, 64)) all += count;
  CHECK(all == 200);
}

TEST("compressed: lines that mean something else on other ranks") {
  const Scratch scratch;
  const std::vector<std::string> texts = {
      "0 init\n0 start 1 5 100 0\n0 recv -333 0 5\n0 wait 0 1 5\n0 finalize\n",
      "1 init\n1 start 1 5 100 0\n1 recv -555 0 5\n1 wait 1 1 5\n1 finalize\n",
      "2 init 1\n2 start 1 5 100 0\n2 recv 0 0 5\n2 wait 2 1 5\n2 send 1 0 5 # x\n"};
  const std::string bytes = compressed(texts, scratch);
  CHECK(test::unpacked(bytes, 3, scratch) == texts);
  check_reading(texts, bytes);
}

TEST("compressed: numbered requests, and calls that differ between ranks") {
  const Scratch scratch;
  std::vector<std::string> texts;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string prefix = std::to_string(rank) + " ";
    const std::string peer = std::to_string((rank + 1) % 3);
    std::string text = prefix + "init\n";
    for (int i = 0; i < 3; ++i) {
      text += prefix + "bcast " + std::to_string(rank) + "\n";
      text += prefix + "isend " + peer + " 0 5 request=" + std::to_string(rank) + "\n";
      text += prefix + "irecv -555 0 5 request=7\n";
      text += prefix + "waitall requests=" + std::to_string(rank) + ",7\n";
      text += prefix + "wait request=" + std::to_string(rank) + "\n";
      text += prefix + "ibarrier request=3\n" + prefix + "gather 5 5 0 comm=0\n";
    }
    texts.push_back(text + prefix + "finalize\n");
  }
  const std::string bytes = compressed(texts, scratch);
  CHECK(test::unpacked(bytes, 3, scratch) == texts);
  check_reading(texts, bytes);
}

TEST("compressed: a wrong line is found where it stands, on the rank that it is wrong on") {
  const Scratch scratch;
  std::vector<std::string> texts = ring(4, 10, 1);
  for (int rank = 0; rank < 4; ++rank) {
    texts[static_cast<std::size_t>(rank)] +=
        std::to_string(rank) + " send " + std::to_string(rank + 1) + " 0 5\n";
  }
  check_reading(texts, compressed(texts, scratch));
}

TEST("compressed: lines without actions that never end are refused") {
  const Scratch scratch;
  std::string text = "0 init\n";
  for (int i = 0; i < 1000; ++i) text += "# c\n";
  std::vector<tit::Section> sections = sections_of(compressed({text + "0 finalize\n"}, scratch));
  // The stored repetitions, less 2, become about 2^31.
  const std::size_t place = sections[0].bytes.find("\xe6\x07");
  CHECK(place != std::string::npos);
  sections[0].bytes.replace(place, 2, "\xff\xff\xff\xff\x07");
  const auto set = opened(tit::write_container(sections));
  CallTable calls;
  CHECK_THROWS(test::read_all(*set, 0, calls), TraceError, "lines without an action");
}

TEST(
    "compressed: a block that cannot be, under a checksum that is right, is refused by "
    "inspecting") {
  const Scratch scratch;
  std::vector<tit::Section> sections = sections_of(compressed(ring(3, 40, 1000, 300), scratch));
  const auto values =
      std::find_if(sections.begin(), sections.end(),
                   [](const tit::Section& section) { return section.name == tit::kValuesSection; });
  CHECK(values != sections.end());
  // States of 15 bytes.
  values->bytes.replace(values->bytes.size() - 2, 2, "\xff\xff");
  test::set_checksums(sections);
  const PackedFile file(test::file_of(tit::write_container(sections), "x.tit"));
  CHECK_THROWS(inspect(file, true), TraceError, "the values of a column are invalid");
}

TEST("compressed: any damage behind checksums that are right is read or refused") {
  const Scratch scratch;
  const std::string bytes = compressed(ring(3, 40, 1000, 300), scratch);
  const std::vector<tit::Section> sections = sections_of(bytes);
  std::mt19937 random(11);
  for (int round = 0; round < 600; ++round) {
    std::vector<tit::Section> damaged = sections;
    tit::Section& section = damaged[random() % damaged.size()];
    section.coding = tit::Coding::none;
    for (std::size_t i = 0; i <= random() % 3 && !section.bytes.empty(); ++i) {
      section.bytes[random() % section.bytes.size()] =
          static_cast<char>(random() % 3 == 0 ? random() % 256 : random() % 8);
    }
    if (random() % 4 == 0) section.bytes.resize(random() % (section.bytes.size() + 1));
    const std::string error = error_of_reading(tit::write_container(damaged), scratch);
    CHECK(error.empty() || error.find("x.tit") == 0 ||
          error.find("cannot be") != std::string::npos);
    std::filesystem::remove_all(scratch.file("damaged"));
  }
}

// Classes of two ranks have the same messages, with several partners; rank 11 sends to nobody.
TEST("compressed traces: what a message is goes for all classes, but not out of range") {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 12; ++rank) {
    const std::string prefix = std::to_string(rank) + " ";
    const std::string other = std::to_string(rank ^ 1);
    std::string text = prefix + "init\n" + prefix + "allreduce 8 0\n";
    for (int i = 0; i < rank / 4 + 1; ++i) {
      text += prefix + "irecv " + other + " 7 64\n" + prefix + "irecv -555 3 8 request=2\n";
      text += prefix + "isend " + other + " 7 64\n" + prefix + "bcast 8 2\n";
      for (const int partner : {0, rank, (rank + 2) % 12, 3 * rank % 12}) {
        text += prefix + "isend " + std::to_string(partner) + " 7 64\n";
        text += prefix + "wait " + std::to_string(rank) + " " + std::to_string(partner) + " 7\n";
      }
      text += prefix + "wait " + other + " " + std::to_string(rank) + " 7\n";
    }
    if (rank % 2 == 1) text += prefix + "send " + std::to_string(rank + 1) + " 7 64\n";
    texts.push_back(text + prefix + "finalize\n");
  }
  const Scratch scratch;
  const auto plain = TraceSet::open(test::files_of(texts), "text");
  const auto set = opened(compressed(texts, scratch));
  CallTable calls;
  CallTable expected_calls;
  for (std::int32_t rank = 0; rank < 11; ++rank) {
    const std::vector<Op> expected = test::read_all(*plain, rank, expected_calls);
    const std::vector<Op> ops = test::read_all(*set, rank, calls);
    CHECK(std::equal(ops.begin(), ops.end(), expected.begin(), expected.end(), test::same));
  }
  CHECK(calls.size() == expected_calls.size());
  CHECK_THROWS(test::read_all(*set, 11, calls), TraceError, "destination 12");
}
}  // namespace tisim
