#include "trace/volumes/speedups.hpp"

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

}  // namespace tisim
