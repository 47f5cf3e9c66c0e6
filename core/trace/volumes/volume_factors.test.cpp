#include "trace/volumes/volume_factors.hpp"

#include "core/test.hpp"

namespace tisim {

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

}  // namespace tisim
