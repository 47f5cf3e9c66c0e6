// Recordings equal the calls, and recorded parts become the trace of the program.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/packed_testing.hpp"
#include "core/test.hpp"
#include "trace/packed/calls.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/part_set.hpp"
#include "trace/tit/recorder/rank_recorder.hpp"

namespace tisim::tit {

namespace {

using Numbers = std::vector<std::int64_t>;
using Calls = std::vector<std::pair<std::string, Numbers>>;

// All calls of a rank, including numbers separated from them.
Calls calls_of(const RankLog& log) {
  ByteReader values(log.values);
  Calls calls;
  for (const std::uint32_t number : log.sequence.expanded()) {
    const RankLog::Segment& segment = log.segments[number];
    for (const std::uint32_t place : segment.grammar.expanded()) {
      const RecordedCall& call = segment.calls[place];
      const RecordedShape& shape = log.shapes[call.shape];
      calls.emplace_back(shape.text, call.numbers);
      for (std::size_t i = 0; i < shape.holes(); ++i) {
        if (!is_in_column(call.columns, i)) continue;
        calls.back().second[i] = value_in_column(shape, i, values);
      }
    }
  }
  return calls;
}

Calls calls_of_log(const std::string& log) { return calls_of(RankLog::read(log)); }

// A recorder and its expected recording.
class Program {
 public:
  explicit Program(std::size_t memory, std::string path = "", std::uint32_t rank = 0,
                   std::uint32_t ranks = 1)
      : recorder(rank, ranks, memory, std::move(path)), bound_(memory) {
    for (const char* text : {"send {} {} {}", "recv {} {} {}", "barrier"}) {
      recorder.shape(RecordedShape::of(text, *text == 'b' ? 0 : 1));
    }
  }

  void call(std::uint32_t shape, const Numbers& numbers) {
    static const char* const kTexts[] = {"compute {volume}", "send {} {} {}", "recv {} {} {}",
                                         "barrier"};
    recorder.call(shape, numbers.data());
    expected.emplace_back(kTexts[shape], numbers);
    most_memory_ = std::max(most_memory_, recorder.memory());
  }
  void check() {
    CHECK(calls_of_log(recorder.log().contents()) == expected);
    CHECK(most_memory_ <= bound_);
  }

  RankRecorder recorder;
  Calls expected;

 private:
  std::size_t bound_;
  std::size_t most_memory_ = 0;
};

// A call that may resemble others.
void random_call(Program& program, std::mt19937_64& random, std::int64_t range) {
  const auto any = [&] { return static_cast<std::int64_t>(random()) % range; };
  switch (random() % 4) {
    case 0:
      return program.call(0, {std::abs(any())});
    case 1:
      return program.call(1, {std::abs(any()) % 50, 3, any()});
    case 2:
      return program.call(2, {std::abs(any()) % 50, any(), any()});
    default:
      return program.call(3, {});
  }
}

constexpr std::size_t kSmall = RankRecorder::kMinMemory;

}  // namespace

TEST("recorder: random programs come back, and stay in the bound") {
  std::mt19937_64 random(1);
  for (const std::int64_t range : {2, 30, 1000, 1'000'000'000}) {
    Program program(kSmall);
    for (int i = 0; i < 40'000; ++i) random_call(program, random, range);
    program.recorder.end();
    program.check();
  }
}

TEST("recorder: flushing now and then changes nothing") {
  std::mt19937_64 random(2);
  Program program(kSmall);
  for (int i = 0; i < 20'000; ++i) {
    random_call(program, random, i < 10'000 ? 5 : 1'000'000);
    if (random() % 1000 != 0) continue;
    program.recorder.flush();
    program.check();
  }
  program.recorder.end();
  program.check();
  CHECK(RankLog::read(program.recorder.log().contents()).is_complete);
}

TEST("recorder: a loop takes the same space for any number of iterations") {
  std::vector<std::size_t> sizes, memory;
  for (const int iterations : {10, 100, 1000}) {
    Program program(std::size_t{1} << 20);
    for (int i = 0; i < iterations; ++i) {
      for (int peer = 1; peer < 7; ++peer) program.call(2, {peer, 0, 4096});
      for (int peer = 1; peer < 7; ++peer) program.call(1, {peer, 0, 4096});
      program.call(0, {123'456});
      program.call(3, {});
    }
    program.recorder.end();
    program.check();
    sizes.push_back(program.recorder.log().contents().size());
    memory.push_back(program.recorder.memory());
  }
  CHECK(sizes[2] - sizes[0] <= 16 && sizes[2] < 500);
  CHECK(memory[2] == memory[0] && memory[2] <= 8 << 10);
}

TEST("recorder: a loop that is longer than the memory is in the log once") {
  std::mt19937_64 random(3);
  Program body(std::size_t{1} << 30);
  for (int i = 0; i < 6000; ++i) random_call(body, random, 2);
  std::vector<std::size_t> sizes;
  for (const int iterations : {10, 40}) {
    Program program(kSmall);
    for (int i = 0; i < iterations; ++i) {
      for (const auto& call : body.expected) {
        const std::string& text = call.first;
        program.call(text[0] == 'c' ? 0 : text[0] == 's' ? 1 : text[0] == 'r' ? 2 : 3, call.second);
      }
    }
    program.recorder.end();
    program.check();
    sizes.push_back(program.recorder.log().contents().size());
  }
  CHECK(sizes[1] - sizes[0] < 30 * 250);  // an iteration is 6,000 calls
}

TEST("recorder: numbers that hardly repeat take little more than their bytes") {
  std::mt19937_64 random(4);
  Program program(std::size_t{1} << 20);
  for (int i = 0; i < 100'000; ++i) {
    program.call(1, {1, 0, static_cast<std::int64_t>(random() % (1 << 13))});
  }
  program.recorder.end();
  program.check();
  CHECK(program.recorder.log().contents().size() < 100'000 * 2 * 11 / 10);
}

TEST("recorder: a log that was cut anywhere has the calls before the cut") {
  std::mt19937_64 random(5);
  Program program(kSmall);
  for (int i = 0; i < 6000; ++i) {
    random_call(program, random, 1000);
    if (i % 500 == 0) program.recorder.flush();
  }
  program.recorder.end();
  const std::string log = program.recorder.log().contents();
  std::size_t longest = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string cut = log.substr(0, 40 + random() % (log.size() - 40));
    const Calls calls = calls_of_log(cut);
    CHECK(calls.size() <= program.expected.size() &&
          std::equal(calls.begin(), calls.end(), program.expected.begin()));
    CHECK(!RankLog::read(cut).is_complete);
    longest = std::max(longest, calls.size());
  }
  CHECK(longest > 3000);
}

TEST("recorder: a file does not grow with the number of flushes") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tisim-part-" + std::to_string(getpid()));
  Program program(std::size_t{1} << 20, path.string());
  std::mt19937_64 random(6);
  for (int i = 0; i < 400; ++i) {
    for (int k = 0; k < 10; ++k) random_call(program, random, 1'000'000);
    program.recorder.flush();
    CHECK(std::filesystem::file_size(path) < 5 << 20);
  }
  program.check();
  program.recorder.end();
  program.check();
  std::filesystem::remove(path);
}

TEST("recorder: a full disk stops the recording, and nothing else") {
  Program program(kSmall, "/dev/full");
  CHECK(program.recorder.log().error().find("/dev/full cannot be written") == 0);
  for (int i = 0; i < 1000; ++i) program.call(1, {i, i, i});
  program.recorder.end();
  Program missing(kSmall, "/nowhere/part");
  CHECK(missing.recorder.log().error().find("/nowhere/part cannot be created") == 0);
}

TEST("parts: ranks merge in any order") {
  std::mt19937_64 random(7);
  constexpr std::uint32_t kRanks = 64;
  std::string first;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> parts;
    std::vector<Calls> expected(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      Program program(kSmall, "", rank, kRanks);
      for (int i = 0; i < 20; ++i) {
        program.call(1, {(rank + 1) % kRanks, 0, 800});
        program.call(2, {(rank + kRanks - 1) % kRanks, 0, 800});
      }
      program.recorder.end();
      expected[rank] = program.expected;
      parts.push_back(PartSet::from_log(program.recorder.log().contents()).write());
    }
    std::shuffle(parts.begin(), parts.end(), random);
    while (parts.size() > 1) {
      PartSet set = PartSet::read(parts.back());
      parts.pop_back();
      const std::size_t other = random() % parts.size();
      set.merge(PartSet::read(parts[other]));
      parts[other] = set.write();
    }
    if (first.empty()) first = parts[0];
    CHECK(parts[0] == first);
    const PartSet all = PartSet::read(first);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      CHECK(calls_of_log(*all.log(static_cast<std::int32_t>(rank))) == expected[rank]);
    }
    PartSet twice = PartSet::read(first);
    CHECK_THROWS(twice.merge(PartSet::read(first)), FormatError, "is in two parts");
  }
}

TEST("parts: damaged bytes are refused") {
  Program program(kSmall);
  std::mt19937_64 random(8);
  for (int i = 0; i < 3000; ++i) random_call(program, random, 100'000);
  program.recorder.end();
  const std::string part = PartSet::from_log(program.recorder.log().contents()).write();
  for (int round = 0; round < 500; ++round) {
    std::string damaged = part;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    CHECK_THROWS(PartSet::read(damaged), FormatError, "");
  }
  CHECK_THROWS(PartSet::from_log("something else"), FormatError, "does not begin like");
}

namespace {

// A recorder and the lines of its rank.
struct RecordedRank {
  RankRecorder recorder;
  std::string text = {};
  std::string prefix;
  std::uint32_t send, receive, barrier;

  RecordedRank(std::uint32_t rank, std::uint32_t ranks)
      : recorder(rank, ranks, RankRecorder::kMinMemory, ""),
        prefix(std::to_string(rank) + " "),
        send(recorder.shape(RecordedShape::of("send {} {} {}", 1))),
        receive(recorder.shape(RecordedShape::of("irecv {} {} {} request={}", 1))),
        barrier(recorder.shape(RecordedShape::of("barrier", 0))) {}

  void compute(std::int64_t volume) {
    recorder.call(kRecordedCompute, &volume);
    text += prefix + "compute " + std::to_string(volume) + "\n";
  }
  void call(std::uint32_t shape, const std::vector<std::int64_t>& numbers) {
    recorder.call(shape, numbers.data());
    text += prefix + (shape == send ? "send" : shape == receive ? "irecv" : "barrier");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      text += (i == 3 ? " request=" : " ") + std::to_string(numbers[i]);
    }
    text += "\n";
  }
  PartSet part() { return PartSet::from_log(recorder.log().contents()); }
};

void check_trace(std::int64_t range, std::uint64_t max_calls_in_memory) {
  constexpr std::uint32_t kRanks = 5;
  std::mt19937_64 random(static_cast<std::uint64_t>(range));
  PartSet all;
  std::vector<std::string> texts;
  for (std::uint32_t number = 0; number < kRanks; ++number) {
    RecordedRank rank(number, kRanks);
    const std::int64_t next = (number + 1) % kRanks;
    for (int i = 0; i < 3000; ++i) {
      const auto any = static_cast<std::int64_t>(random() >> 8) % range;
      rank.compute(1000 + any * any);
      if (any % 3 == 0) rank.call(rank.send, {next, 0, any});
      if (any % 3 == 1) rank.call(rank.receive, {next, 0, 100, any});
      if (i % 50 == 0) rank.call(rank.barrier, {});
    }
    rank.recorder.end();
    texts.push_back(rank.text);
    if (number == 0) {
      all = rank.part();
    } else {
      all.merge(rank.part());
    }
  }
  const test::Scratch scratch;
  std::vector<std::uint32_t> incomplete;
  const std::string bytes = trace_of(all, {}, incomplete, max_calls_in_memory);
  CHECK(incomplete.empty());
  CHECK(test::unpacked(bytes, kRanks, scratch) == texts);
}

}  // namespace

TEST("recorded parts: the trace is what was called, with its structure sought anew or kept") {
  for (const std::int64_t range : {3, 50, 1'000'000}) {
    check_trace(range, kMaxCallsInMemory);
    check_trace(range, 0);
  }
}

TEST("recorded parts: calls keep their attributes, with the structure sought anew or kept") {
  RecordedRank rank(0, 1);
  AttributeRecorder& attributes = rank.recorder.attributes();
  const auto site = static_cast<std::uint32_t>(attributes.declare({"s", AttributeKind::text}));
  const auto source = static_cast<std::uint32_t>(attributes.declare({"m", AttributeKind::rank}));
  std::vector<std::pair<std::uint64_t, std::int64_t>> expected;  // lines and sums of values
  std::int64_t ticket = 0;
  for (int i = 0; i < 500; ++i) {
    const std::int64_t text = attributes.text("f" + std::to_string(i % 3));
    attributes.set(site, text);
    attributes.set(source, i * i % 11);
    rank.compute(100 + i * i % 7);
    expected.emplace_back(2 * i + 1, text + i * i % 11);
    if (i % 2 == 0) {
      ticket = attributes.set_later(source);
    } else {
      attributes.set(site, 1);
    }
    rank.call(rank.receive, {0, 0, 100, i % 4});
    if (i % 4 == 0) CHECK(attributes.set_ticket(ticket, i));
    if (i % 2 == 1) expected.emplace_back(2 * i + 2, 1);
    if (i % 4 == 0) expected.emplace_back(2 * i + 2, i);
  }
  CHECK(!attributes.set_ticket(ticket + 256, 0));
  rank.recorder.end();
  for (const std::uint64_t most : {kMaxCallsInMemory, std::uint64_t{0}}) {
    std::vector<std::uint32_t> incomplete;
    const std::string bytes = trace_of(PartSet::read(rank.part().write()), {}, incomplete, most);
    const PackedFile file(test::file_of(bytes, "x.tit"));
    std::vector<std::pair<std::uint64_t, std::int64_t>> recorded;
    for (AttributeWalk walk(file, 0); walk.next();) {
      recorded.emplace_back(walk.line(), 0);
      for (const PackedAttribute& value : walk.values()) recorded.back().second += value.value;
    }
    CHECK(recorded == expected);
    const test::Scratch scratch;
    const std::string text = test::unpacked(bytes, 1, scratch).front();
    CHECK(text.find("# @ 0 f0\n# @ 1 f1\n# @ 2 f2\n# @ s=0 m=0\n0 compute 100\n# @ m=0\n") == 0);
  }
}

TEST("recorded parts: a trace says which ranks did not end") {
  RecordedRank cut(0, 3), whole(2, 3);
  for (int i = 0; i < 20; ++i) {
    cut.compute(5);
    whole.call(whole.send, {0, 0, 8});
  }
  cut.recorder.flush();
  whole.recorder.end();
  PartSet parts = cut.part();
  parts.merge(whole.part());
  const test::Scratch scratch;
  for (const std::uint64_t most : {kMaxCallsInMemory, std::uint64_t{0}}) {
    std::vector<std::uint32_t> incomplete;
    const std::string bytes = trace_of(parts, {"unsupported MPI_Put 2"}, incomplete, most);
    CHECK((incomplete == std::vector<std::uint32_t>{0, 1}));
    CHECK((test::unpacked(bytes, 3, scratch) ==
           std::vector<std::string>{
               "0 unsupported MPI_Put 2\n# incomplete: ranks 0, 1\n" + cut.text, "", whole.text}));
  }
}

}  // namespace tisim::tit
