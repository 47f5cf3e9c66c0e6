#include "trace/vocabulary/call.hpp"

#include "core/test.hpp"

namespace tisim {

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
