// Recorded parts become the trace that the program would have written as text.
#include "trace/tit/recorder/part_set.hpp"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/packed_testing.hpp"
#include "core/test.hpp"
#include "trace/packed/calls.hpp"
#include "trace/tit/recorder/rank_recorder.hpp"

namespace tisim::tit {

namespace {

// A recorder and the lines of its rank.
struct RecordedRank {
  RankRecorder recorder;
  std::string text = {};
  std::string prefix;
  std::uint32_t send, receive, barrier;

  RecordedRank(std::uint32_t rank, std::uint32_t ranks)
      : recorder(rank, ranks, RankRecorder::kLeastMemory, ""),
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

void check_trace(std::int64_t range, std::uint64_t most_calls_at_hand) {
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
  const std::string bytes = trace_of(all, {}, incomplete, most_calls_at_hand);
  CHECK(incomplete.empty());
  CHECK(test::unpacked(bytes, kRanks, scratch) == texts);
}

}  // namespace

TEST("recorded parts: the trace is what was called, with its structure sought anew or kept") {
  for (const std::int64_t range : {3, 50, 1'000'000}) {
    check_trace(range, kMostCallsAtHand);
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
    if (i % 4 == 0) CHECK(attributes.tell(ticket, i));
    if (i % 2 == 1) expected.emplace_back(2 * i + 2, 1);
    if (i % 4 == 0) expected.emplace_back(2 * i + 2, i);
  }
  CHECK(!attributes.tell(ticket + 256, 0));
  rank.recorder.end();
  for (const std::uint64_t most : {kMostCallsAtHand, std::uint64_t{0}}) {
    std::vector<std::uint32_t> incomplete;
    const std::string bytes = trace_of(PartSet::read(rank.part().write()), {}, incomplete, most);
    const PackedFile file(test::file_of(bytes, "x.tit"));
    std::vector<std::pair<std::uint64_t, std::int64_t>> found;
    for (AttributeWalk walk(file, 0); walk.next();) {
      found.emplace_back(walk.line(), 0);
      for (const PackedAttribute& value : walk.values()) found.back().second += value.value;
    }
    CHECK(found == expected);
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
  for (const std::uint64_t most : {kMostCallsAtHand, std::uint64_t{0}}) {
    std::vector<std::uint32_t> incomplete;
    const std::string bytes = trace_of(parts, {"unsupported MPI_Put 2"}, incomplete, most);
    CHECK((incomplete == std::vector<std::uint32_t>{0, 1}));
    CHECK((test::unpacked(bytes, 3, scratch) ==
           std::vector<std::string>{
               "0 unsupported MPI_Put 2\n# incomplete: ranks 0, 1\n" + cut.text, "", whole.text}));
  }
}

}  // namespace tisim::tit
