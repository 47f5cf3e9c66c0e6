#include "trace/volume_adjustments.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/packed_testing.hpp"
#include "core/test.hpp"

namespace tisim {

namespace {

std::vector<double> factors(const ComputeNoise& noise, std::int32_t rank, std::size_t count,
                            std::size_t batch) {
  ComputeNoiseStream stream(noise, rank);
  std::vector<Op> ops(count);
  for (std::size_t i = 0; i < count; ++i) {
    ops[i].kind = Kind::compute;
    ops[i].amount = 1.0;
  }
  for (std::size_t i = 0; i < count; i += batch) {
    stream.apply(ops.data() + i, std::min(batch, count - i));
  }
  std::vector<double> amounts;
  for (const Op& op : ops) amounts.push_back(op.amount);
  return amounts;
}

}  // namespace

TEST("compute noise: mean 1 and the standard deviation asked for") {
  for (const double variation : {0.05, 0.5}) {
    const std::vector<double> all = factors({variation, 7}, 3, 200000, 512);
    double sum = 0.0;
    double squares = 0.0;
    for (const double factor : all) {
      sum += factor;
      squares += (factor - 1.0) * (factor - 1.0);
    }
    const auto n = static_cast<double>(all.size());
    CHECK(std::fabs(sum / n - 1.0) < 4.0 * variation / std::sqrt(n));
    CHECK(std::fabs(std::sqrt(squares / n) / variation - 1.0) < 0.02);
  }
}

TEST("compute noise: another variation stretches the same deviations") {
  const double narrow = std::sqrt(std::log1p(0.01));
  const double wide = std::sqrt(std::log1p(0.04));
  const std::vector<double> a = factors({0.1, 5}, 2, 50, 50);
  const std::vector<double> b = factors({0.2, 5}, 2, 50, 50);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double z = std::log(a[i]) / narrow + narrow / 2.0;
    CHECK(test::close(std::log(b[i]), wide * (z - wide / 2.0), 1e-9));
  }
}

namespace {
Op compute_op(double flops, std::uint8_t flags = 0) {
  Op op;
  op.kind = Kind::compute;
  op.flags = flags;
  op.amount = flops;
  return op;
}
}  // namespace

TEST("speedups: two calls that follow one another have one") {
  const Speedups speedups{{"a.c:1:b.c:2", 4.0}, {"/src/b.c:2:/src/b.c:3", 0.5}};
  LocationTracker tracker;
  CHECK(tracker.advance_to(speedups, "/src/a.c", "1") == 1.0);
  CHECK(tracker.advance_to(speedups, "/src/b.c", "2") == 4.0);
  CHECK(tracker.advance_to(speedups, "/src/b.c", "3") == 0.5);
  CHECK(tracker.advance_to(speedups, "b.c", "2") == 1.0);
}

TEST("speedups: computations are divided up to the next place, those of reductions are not") {
  Op place;
  place.kind = Kind::nop;
  place.flags = kHasLocation;
  CallTable calls;
  Call call;
  call.words = {"a.c", "1"};
  place.call = calls.intern(call);
  Op next_place = place;
  call.words = {"b.c", "2"};
  next_place.call = calls.intern(call);
  const Speedups speedups{{"a.c:1:b.c:2", 4.0}};
  Op ops[] = {place, compute_op(8), next_place, compute_op(8), compute_op(8, kContinuation)};
  SpeedupStream stream(speedups, calls);
  stream.apply(ops, 5);
  CHECK(ops[1].amount == 8 && ops[3].amount == 2 && ops[4].amount == 8);
  CHECK(ops[2].flags == 0 && ops[2].bytes == 0);
  Op later[] = {compute_op(8)};
  stream.apply(later, 1);
  CHECK(later[0].amount == 2);
}

TEST("volume factors: computations that have one are multiplied, flops of reductions are not") {
  Op ops[4];
  for (Op& op : ops) {
    op.kind = Kind::compute;
    op.amount = 8;
  }
  ops[1].amount = 9;
  ops[2].flags = kContinuation;
  ops[3].kind = Kind::sleep;
  multiply_volumes({{8.0, 1.5}}, ops, 4);
  CHECK(ops[0].amount == 12 && ops[1].amount == 9 && ops[2].amount == 8 && ops[3].amount == 8);
}

TEST("speedups: a packed trace and its text give the same volumes") {
  // The second `location a.c 1` follows another location than the first one.
  const std::string text =
      "0 location b.c 2\n0 compute 8\n0 location a.c 1\n0 compute 8\n"
      "0 location c.c 3\n0 compute 8\n0 location a.c 1\n0 compute 8\n";
  TraceOptions options;
  options.speedups = {{"b.c:2:a.c:1", 2.0}, {"c.c:3:a.c:1", 4.0}};
  const test::Scratch scratch;
  const std::string packed = test::packed({text, "1 init\n"}, scratch);
  for (const auto& set :
       {TraceSet::open(test::files_of({text, "1 init\n"}), "text", Dialect::modern, options),
        TraceSet::open({test::file_of(packed)}, "packed", Dialect::modern, options)}) {
    CallTable calls;
    std::vector<double> volumes;
    for (const Op& op : test::read_all(*set, 0, calls)) {
      CHECK(op.flags == 0);
      if (op.kind == Kind::compute) volumes.push_back(op.amount);
    }
    CHECK((volumes == std::vector<double>{8, 4, 8, 2}));
  }
}

}  // namespace tisim
