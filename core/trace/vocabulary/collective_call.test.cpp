#include "trace/vocabulary/collective_call.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/test.hpp"

namespace tisim::test {

namespace {

constexpr std::int64_t kRanks = 3;
// Types as traces number them.
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

// Arguments are those of a line over three ranks, without the flops of reduce, allreduce and scans.
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
        "alltoallv: a displacement is a whole number, got 0.5");
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
  CHECK(misfit(Operation::bcast, {1.5}) == "bcast: a count is a whole number up to 2^53, got 1.5");
  CHECK(misfit(Operation::bcast, {1, 0, 60}) ==
        "bcast: there is no type 60; types are numbered from -1 to 59");
  CHECK(misfit(Operation::reducescatter, {1, 2, 3, -1}) ==
        "reducescatter: flops cannot be negative, got -1");
  CHECK(misfit(Operation::allgatherv, {1, 2, 3, 4, 0, 0.5, 2}) ==
        "allgatherv: a displacement is a whole number, got 0.5");
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
