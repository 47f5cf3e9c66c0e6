#include "trace/vocabulary/vocabulary.hpp"

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/test.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/vocabulary/file_view.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

TEST("vocabulary: every known action is found, in any case") {
  const Vocabulary vocabulary({});
  for (const Action& action : known_actions()) {
    CHECK(vocabulary.find(action.name) == &action);
    std::string shouted(action.name);
    for (char& c : shouted) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    CHECK(vocabulary.find(shouted) == &action);
  }
  CHECK(vocabulary.find("sendRecv")->kind == Kind::sendrecv);
  CHECK(vocabulary.find("ISsend")->kind == Kind::issend);
  CHECK(vocabulary.find("allToAllV")->operation == Operation::alltoallv);
}

TEST("vocabulary: what is not an action is not found") {
  const Vocabulary vocabulary({});
  for (const char* word :
       {"", "s", "sen", "sends", "comput", "compute_", "a_very_long_word_indeed"}) {
    CHECK(vocabulary.find(word) == nullptr);
  }
}

TEST("vocabulary: custom actions") {
  const Vocabulary vocabulary({"checkpoint", "a_rather_long_name_of_an_action"});
  CHECK(vocabulary.find("CheckPoint")->name == "checkpoint");
  CHECK(vocabulary.find("checkpoint")->form == Form::custom);
  CHECK(vocabulary.find("a_rather_long_name_of_an_action") != nullptr);
  CHECK_THROWS(Vocabulary({"Send"}), std::invalid_argument, "already exists");
  CHECK_THROWS(Vocabulary({"x", "X"}), std::invalid_argument, "already exists");
  CHECK_THROWS(Vocabulary({"two words"}), std::invalid_argument, "one word");
  CHECK_THROWS(Vocabulary({""}), std::invalid_argument, "one word");
}

TEST("vocabulary: the nearest names") {
  const Vocabulary vocabulary({"checkpoint"});
  CHECK(vocabulary.nearest("sned").substr(0, 4) == "send");
  CHECK(vocabulary.nearest("chekpoint") == "checkpoint");
  CHECK(vocabulary.nearest("allredcue").substr(0, 9) == "allreduce");
  CHECK(vocabulary.nearest("xyzzy").empty());
  CHECK(vocabulary.nearest(std::string(10000, 'a')).empty());
}

TEST("calls: equal ones have equal numbers, others do not") {
  CallTable calls;
  Call call;
  call.operation = Operation::bcast;
  call.arguments = {10, 0, 1};
  const std::uint32_t first = calls.intern(call);
  CHECK(calls.intern(call) == first);
  Call other = call;
  other.arguments = {10, 1, 1};
  CHECK(calls.intern(other) != first);
  other = call;
  other.comm = 1;
  CHECK(calls.intern(other) != first);
  other = call;
  other.double_default = true;
  CHECK(calls.intern(other) != first);
  other = call;
  other.operation = Operation::reduce;
  CHECK(calls.intern(other) != first);
  other = call;
  other.words = {"x"};
  CHECK(calls.intern(other) != first);
  CHECK(calls.size() == 6);
  CHECK(calls[first] == call);
}

TEST("calls: thousands of them are kept apart") {
  CallTable calls;
  Call call;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) {
      call.arguments = {static_cast<double>(i), 1e300 / (i + 1)};
      CHECK(calls.intern(call) == static_cast<std::uint32_t>(i));
    }
  }
  CHECK(calls.size() == 5000);
}

}  // namespace tisim

namespace tisim::test {

namespace {

constexpr std::int64_t kRanks = 3;
// Type numbers of traces.
constexpr double kDouble = 0, kInt = 1, kShort = 3;  // 8, 4 and 2 bytes

using Counts = std::vector<double>;

// The expected meaning of a call.
struct Meaning {
  std::int64_t root = 0;
  std::int64_t send_count = 0, receive_count = 0;
  std::int64_t send_width = 1, receive_width = 1;  // bytes
  Counts send_counts = {}, receive_counts = {};
  double flops = 0;
};

Call call_of(Operation operation, Counts arguments) {
  Call call;
  call.operation = operation;
  call.arguments = std::move(arguments);
  return call;
}

// Arguments are those of a line for three ranks, without the flops of reduce, allreduce and scans.
bool means(Operation operation, Counts arguments, const Meaning& meaning) {
  const Call call = call_of(operation, std::move(arguments));
  const CollectiveCall decoded(call, kRanks);
  const auto same = [](std::span<const double> a, const Counts& b) {
    return Counts(a.begin(), a.end()) == b;
  };
  return decoded.fits && decoded.operation == operation && decoded.root == meaning.root &&
         decoded.send_count == meaning.send_count &&
         decoded.receive_count == meaning.receive_count &&
         decoded.send_width == meaning.send_width &&
         decoded.receive_width == meaning.receive_width &&
         same(decoded.send_counts, meaning.send_counts) &&
         same(decoded.receive_counts, meaning.receive_counts) && decoded.flops == meaning.flops;
}

std::string misfit(Operation operation, Counts arguments) {
  const Call call = call_of(operation, std::move(arguments));
  if (CollectiveCall(call, kRanks).fits) return "it fits";
  return explain_misfit(call, Kind::collective, kRanks);
}

TEST("collective call: one count, and perhaps a root and a type") {
  CHECK(means(Operation::barrier, {}, {}));
  CHECK(means(Operation::bcast, {10}, {.send_count = 10}));
  CHECK(means(Operation::bcast, {10, 2}, {.root = 2, .send_count = 10}));
  CHECK(means(Operation::bcast, {10, 2, kInt},
              {.root = 2, .send_count = 10, .send_width = 4, .receive_width = 4}));
}

TEST("collective call: the flops of reductions are not among the arguments") {
  CHECK(means(Operation::reduce, {10}, {.send_count = 10}));
  CHECK(means(Operation::reduce, {10, 1, kDouble},
              {.root = 1, .send_count = 10, .send_width = 8, .receive_width = 8}));
  for (const Operation operation : {Operation::allreduce, Operation::scan, Operation::exscan}) {
    CHECK(means(operation, {10}, {.send_count = 10}));
    CHECK(means(operation, {10, kInt}, {.send_count = 10, .send_width = 4, .receive_width = 4}));
  }
}

TEST("collective call: a count to send and one to receive") {
  for (const Operation operation : {Operation::alltoall, Operation::allgather}) {
    CHECK(means(operation, {10, 20}, {.send_count = 10, .receive_count = 20}));
    CHECK(means(operation, {10, 20, kInt, kShort},
                {.send_count = 10, .receive_count = 20, .send_width = 4, .receive_width = 2}));
  }
  for (const Operation operation : {Operation::gather, Operation::scatter}) {
    CHECK(means(operation, {10, 20}, {.send_count = 10, .receive_count = 20}));
    CHECK(means(
        operation, {10, 20, 2, kInt, kShort},
        {.root = 2, .send_count = 10, .receive_count = 20, .send_width = 4, .receive_width = 2}));
  }
}

TEST("collective call: a count for each rank on one side") {
  CHECK(means(Operation::gatherv, {10, 1, 2, 3, 2, kInt, kShort},
              {.root = 2,
               .send_count = 10,
               .send_width = 4,
               .receive_width = 2,
               .receive_counts = {1, 2, 3}}));
  CHECK(means(Operation::scatterv, {1, 2, 3, 20, 2, kInt, kShort},
              {.root = 2,
               .receive_count = 20,
               .send_width = 4,
               .receive_width = 2,
               .send_counts = {1, 2, 3}}));
  CHECK(means(Operation::scatterv, {1, 2, 3, 20}, {.receive_count = 20, .send_counts = {1, 2, 3}}));
}

TEST("collective call: displacements stand last, with types before them or without") {
  const Meaning plain{.send_count = 10, .receive_counts = {1, 2, 3}};
  CHECK(means(Operation::allgatherv, {10, 1, 2, 3}, plain));
  CHECK(means(Operation::allgatherv, {10, 1, 2, 3, 0, 100, 200}, plain));
  CHECK(
      means(Operation::allgatherv, {10, 1, 2, 3, kInt, kShort, 0, 100, 200},
            {.send_count = 10, .send_width = 4, .receive_width = 2, .receive_counts = {1, 2, 3}}));
}

TEST("collective call: the sizes of the buffers of an alltoallv mean nothing") {
  CHECK(means(Operation::alltoallv, {60, 1, 2, 3, 150, 4, 5, 6, kInt, kShort},
              {.send_width = 4,
               .receive_width = 2,
               .send_counts = {1, 2, 3},
               .receive_counts = {4, 5, 6}}));
}

TEST("collective call: the counts of an alltoallv may have displacements behind them") {
  const Meaning plain{.send_counts = {1, 2, 3}, .receive_counts = {4, 5, 6}};
  CHECK(means(Operation::alltoallv, {60, 1, 2, 3, 0, 10, 20, 150, 4, 5, 6, 0, 10, 20}, plain));
  CHECK(means(Operation::alltoallv, {60, 1, 2, 3, 0, 10, 20, 150, 4, 5, 6, 0, 10, 20, kInt, kShort},
              {.send_width = 4,
               .receive_width = 2,
               .send_counts = {1, 2, 3},
               .receive_counts = {4, 5, 6}}));
  CHECK(misfit(Operation::alltoallv, {60, 1, 2, 3, 0, 0.5, 20, 150, 4, 5, 6, 0, 10, 20}) ==
        "alltoallv: a displacement must be a whole number, got 0.5");
}

TEST("collective call: a reducescatter has its flops after its counts") {
  CHECK(
      means(Operation::reducescatter, {1, 2, 3, 0.5}, {.receive_counts = {1, 2, 3}, .flops = 0.5}));
  CHECK(means(Operation::reducescatter, {1, 2, 3, 0.5, kInt},
              {.send_width = 4, .receive_width = 4, .receive_counts = {1, 2, 3}, .flops = 0.5}));
}

TEST("collective call: the type is double where init says so") {
  Call call = call_of(Operation::alltoall, {10, 20});
  call.double_default = true;
  const CollectiveCall decoded(call, kRanks);
  CHECK(decoded.send_bytes() == 80 && decoded.receive_bytes() == 160);
}

TEST("collective call: every collective has its number of arguments") {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto operation = static_cast<Operation>(i);
    const Counts arguments(100, 0.0);
    const std::string text = misfit(operation, arguments);
    CHECK(text.starts_with(std::string(traits_of(operation).name) + " needs "));
    CHECK(text.ends_with("arguments (P is 3, the ranks of the communicator)"));
  }
  CHECK(misfit(Operation::bcast, {}) ==
        "bcast needs count [root [type]], got 0 arguments (P is 3, the ranks of the communicator)");
}

TEST("collective call: what an argument cannot be is said") {
  CHECK(misfit(Operation::bcast, {1, 3, 6}) ==
        "bcast: root 3 is not a rank of a communicator of 3 ranks; give one from 0 to 2");
  CHECK(misfit(Operation::bcast, {-1}) == "bcast: a count cannot be negative, got -1");
  CHECK(misfit(Operation::bcast, {1.5}) ==
        "bcast: a count must be a whole number up to 2^53, got 1.5");
  CHECK(misfit(Operation::bcast, {1, 0, 60}) ==
        "bcast: no type 60; types are numbered from -1 to 59");
  CHECK(misfit(Operation::reducescatter, {1, 2, 3, -1}) ==
        "reducescatter: flops cannot be negative, got -1");
  CHECK(misfit(Operation::allgatherv, {1, 2, 3, 4, 0, 0.5, 2}) ==
        "allgatherv: a displacement must be a whole number, got 0.5");
}

TEST("collective call: what is not a collective does not fit") {
  CHECK(!CollectiveCall(call_of(Operation::comm_dup, {0, 1}), kRanks).fits);
  CHECK(!CollectiveCall(call_of(Operation::custom, {}), kRanks).fits);
}

TEST("collective call: some collectives have a root") {
  for (const Operation operation : {Operation::bcast, Operation::reduce, Operation::gather,
                                    Operation::gatherv, Operation::scatter, Operation::scatterv}) {
    CHECK(is_rooted(operation));
  }
  for (const Operation operation : {Operation::barrier, Operation::allgatherv, Operation::scan,
                                    Operation::comm_split, Operation::custom}) {
    CHECK(!is_rooted(operation));
  }
}

}  // namespace

}  // namespace tisim::test

namespace tisim {

TEST("file names: the rank stands where the pattern says") {
  CHECK(file_name("out", 3) == "out");
  CHECK(file_name("out.%05d", 42) == "out.00042");
  CHECK(file_name("out.%05d", 1234567) == "out.1234567");
  CHECK(file_name("%d/of%%.%03d", 7) == "7/of%.007");
}

TEST("file names: a percent sign that stands for nothing is refused") {
  for (const char* name : {"", "%", "a%", "a%s", "%5d", "%00d", "%0d", "%099d", "%0"}) {
    CHECK(!is_file_name(name));
  }
  for (const char* name : {"a", "/", "%d", "%019d", "%%", "a%%d"}) CHECK(is_file_name(name));
}

TEST("file names: flags have letters of their own, and read or write") {
  for (const char* flags : {"r", "w", "rwct", "a", "wcx"}) CHECK(are_open_flags(flags));
  for (const char* flags : {"", "c", "rb", "r+"}) CHECK(!are_open_flags(flags));
}

namespace {

// The bytes of a file that a view shows, found by enumerating the blocks of all levels.
std::vector<std::int64_t> shown(const std::vector<double>& numbers, std::int64_t turns) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(numbers[1]); ++i) places.push_back(i);
  const auto repeat = [&places](std::int64_t count, std::int64_t distance) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const std::int64_t place : places) all.push_back(i * distance + place);
    }
    places = all;
  };
  for (std::size_t i = 2; i + 1 < numbers.size(); i += 2) {
    repeat(static_cast<std::int64_t>(numbers[i]), static_cast<std::int64_t>(numbers[i + 1]));
  }
  repeat(turns, static_cast<std::int64_t>(numbers.back()));
  for (std::int64_t& place : places) place += static_cast<std::int64_t>(numbers[0]);
  return places;
}

}  // namespace

TEST("file view: random views show the bytes that counting finds") {
  std::mt19937 random(7);
  const auto draw = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> numbers{static_cast<double>(draw(0, 20)), static_cast<double>(draw(1, 5))};
    double span = numbers[1];
    for (int level = draw(0, 3); level > 0; --level) {
      const int count = draw(1, 4);
      const double distance = span + draw(0, 3) * draw(0, 4);
      numbers.push_back(count);
      numbers.push_back(distance);
      span += (count - 1) * distance;
    }
    numbers.push_back(span + draw(0, 3) * draw(0, 4));
    CHECK(FileView::error_of(numbers).empty());
    const FileView view(numbers);
    const std::vector<std::int64_t> places = shown(numbers, 3);
    const auto size = static_cast<std::int64_t>(places.size());
    for (std::int64_t i = 0; i < size; ++i) {
      CHECK(view.file_offset(i) == places[static_cast<std::size_t>(i)]);
      CHECK(view.position_before(places[static_cast<std::size_t>(i)]) == i);
      CHECK(view.position_before(places[static_cast<std::size_t>(i)] + 1) == i + 1);
    }
    const std::int64_t first = draw(0, static_cast<int>(size) - 1);
    std::int64_t at = first;
    std::int64_t behind = -1;
    view.for_each_piece(first, size - first, [&](std::int64_t offset, std::int64_t bytes) {
      CHECK(offset != behind);  // else it would belong to the previous piece
      for (std::int64_t i = 0; i < bytes; ++i) {
        CHECK(offset + i == places[static_cast<std::size_t>(at++)]);
      }
      behind = offset + bytes;
    });
    CHECK(at == size);
    CHECK(view.end(first, size - first) == places.back() + 1);
  }
}

TEST("file view: numbers that do not fit") {
  const auto says = [](const std::vector<double>& numbers, std::string_view part) {
    return FileView::error_of(numbers).find(part) != std::string::npos;
  };
  CHECK(says({0, 4}, "a displacement"));
  CHECK(says({0, 4, 2, 8}, "a displacement"));
  CHECK(says({0, 0, 8}, "no bytes"));
  CHECK(says({0, 4, 0, 8, 16}, "no blocks"));
  CHECK(says({0, 9, 8}, "blocks of 9 bytes that begin every 8 bytes overlap"));
  CHECK(says({0, 4, 3, 8, 19}, "overlap"));
  CHECK(FileView::error_of(std::vector<double>{0, 4, 3, 8, 20}).empty());
  const std::vector<double> wide{0, 1, 9e15};
  CHECK(FileView(wide).file_offset(std::int64_t{1} << 40) == FileView::kBeyond);
}

}  // namespace tisim
