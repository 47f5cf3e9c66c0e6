#include "trace/speedups.hpp"

#include "core/test.hpp"

namespace tisim {

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
  CallPlaces places;
  CHECK(places.enter(speedups, "/src/a.c", "1") == 1.0);
  CHECK(places.enter(speedups, "/src/b.c", "2") == 4.0);
  CHECK(places.enter(speedups, "/src/b.c", "3") == 0.5);
  CHECK(places.enter(speedups, "b.c", "2") == 1.0);
}

TEST("speedups: computations are divided up to the next place, those of reductions are not") {
  Op place;
  place.kind = Kind::nop;
  place.flags = kSpeedup;
  place.amount = 4.0;
  Op ops[] = {compute_op(8), place, compute_op(8), compute_op(8, kContinuation)};
  SpeedupStream stream;
  stream.apply(ops, 4);
  CHECK(ops[0].amount == 8 && ops[2].amount == 2 && ops[3].amount == 8);
  CHECK(ops[1].flags == 0 && ops[1].bytes == 0);
  Op later[] = {compute_op(8)};
  stream.apply(later, 1);
  CHECK(later[0].amount == 2);
}

}  // namespace tisim
