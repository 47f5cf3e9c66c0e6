// OTF2: call paths, and calls with equal ones stored as one record.
#include "core/test.hpp"
#include "trace/otf2/call_tree.hpp"
#include "trace/otf2/calls.hpp"

namespace tisim {

namespace {

constexpr std::uint32_t kWait = 1, kIsend = 2, kIrecv = 3, kExchange = 4, kFinalize = 5, kWorld = 0;

Otf2Calls collector() {
  Otf2Definitions known;
  known.calls = {kWait, kIsend, kIrecv, kExchange, kFinalize};
  known.exchanges = {kExchange};
  known.ends = {kFinalize};
  known.communicators = {kWorld};
  return Otf2Calls(known);
}

using Words = std::vector<std::uint64_t>;

std::uint64_t kind(RecordKind of) { return static_cast<std::uint64_t>(of); }

TEST("calls of OTF2: equal calls of a loop are one record, whatever OTF2 numbers their requests") {
  Otf2Calls calls = collector();
  std::uint64_t time = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    calls.enter(time += 10, kIsend);
    calls.isend(1, kWorld, 7, 100, 1000 + i);
    calls.leave(time += 10, kIsend);
    calls.enter(time += 5, kWait);
    calls.isend_complete(1000 + i);
    calls.leave(time += 10, kWait);
  }
  calls.finish();
  CHECK(calls.calls().size() == 200);
  CHECK(calls.records() == 2);
  const Words isend{kind(RecordKind::enter), kIsend, kind(RecordKind::isend), 1, kWorld, 7, 100, 0,
                    kind(RecordKind::leave), kIsend};
  CHECK(calls.record(0) == isend);
  const Words wait{kind(RecordKind::enter), kWait, kind(RecordKind::completed), 1, 0,
                   kind(RecordKind::leave), kWait};
  CHECK(calls.record(1) == wait);
  CHECK(calls.computed()[0] == Otf2Calls::kNotComputed);
  CHECK(calls.computed()[1] == 5);
  CHECK(calls.computed()[2] == 10);
  CHECK(calls.volumes({1, 1}, 1.0, 2.0)[1] == 10);
  // A computation before a call without a line counts for the next one.
  CHECK(calls.volumes({1, 0}, 1.0, 1.0)[1] == -1);
  CHECK(calls.volumes({1, 0}, 1.0, 1.0)[2] == 15);
  CHECK(calls.volumes({1, 0}, 1.0, 1.0)[200] == 5);
}

TEST("calls of OTF2: a receive is told where it was posted, and one that never completes is lost") {
  Otf2Calls calls = collector();
  calls.enter(0, kIrecv);
  calls.post(5);
  calls.leave(1, kIrecv);
  calls.enter(2, kIrecv);
  calls.post(6);
  calls.leave(3, kIrecv);
  calls.enter(4, kWait);
  calls.irecv(3, kWorld, 9, 64, 6);
  calls.leave(5, kWait);
  calls.finish();
  const Words posted{kind(RecordKind::enter),
                     kIrecv,
                     kind(RecordKind::posted_receive),
                     3,
                     kWorld,
                     9,
                     64,
                     0,
                     0,
                     0,
                     1,
                     kind(RecordKind::leave),
                     kIrecv};
  CHECK(calls.record(calls.calls()[1]) == posted);
  CHECK(calls.record(calls.calls()[0])[2] == kind(RecordKind::nothing));
  CHECK(calls.loss(Otf2Loss::never_completed).first == 1);
}

TEST("calls of OTF2: the halves of an exchange get the smallest free numbers") {
  Otf2Calls calls = collector();
  calls.enter(0, kIsend);
  calls.isend(1, kWorld, 7, 100, 50);
  calls.leave(1, kIsend);
  calls.enter(2, kExchange);
  calls.message(RecordKind::send, 1, kWorld, 0, 8);
  calls.message(RecordKind::receive, 2, kWorld, 0, 8);
  calls.leave(3, kExchange);
  calls.enter(4, kFinalize);
  calls.finish();
  const Words record = calls.record(1);
  const Words exchange(record.begin() + 12, record.begin() + 15);
  const Words expected{kind(RecordKind::exchange), 1, 2};
  CHECK(exchange == expected);
  CHECK(calls.has_ended());
  CHECK(calls.calls().size() == 3);
}

TEST("calls of OTF2: an access of a file is a call by itself, with what is computed before it") {
  constexpr std::uint32_t kFile = 9, kHandle = 3, kOther = 4;
  Otf2Definitions known;
  known.calls = {kWait};
  known.handles = {kHandle};
  known.files = {kFile};
  Otf2Calls calls(known);
  calls.enter(0, kWait);
  calls.leave(10, kWait);
  calls.io_create(15, kHandle, 1, 0, 0);
  calls.io_begin(20, kHandle, 1, 0, 100, 7);
  calls.io_begin(21, kOther, 1, 0, 100, 8);  // part of the first one
  calls.io_complete(22, kOther, 100, 8);
  calls.io_complete(30, kHandle, 80, 7);
  calls.io_seek(34, kHandle, 50);
  calls.io_destroy(34, kHandle);
  calls.io_destroy(36, kHandle);
  calls.io_delete(40, kFile);
  calls.finish();
  const auto first = [&](std::size_t call) { return calls.record(calls.calls()[call])[0]; };
  CHECK(calls.calls().size() == 6);
  CHECK(first(1) == kind(RecordKind::io_open));
  CHECK(calls.record(calls.calls()[2]) ==
        (Words{kind(RecordKind::io_access), 0, kHandle, 1, 0, 80}));
  CHECK(first(3) == kind(RecordKind::io_seek));
  CHECK(first(4) == kind(RecordKind::io_close));
  CHECK(first(5) == kind(RecordKind::io_delete));
  CHECK((std::vector<std::int64_t>{Otf2Calls::kNotComputed, 5, 5, 4, 0, 6}) == calls.computed());
}

TEST("call tree: a function has a node for each path to it, and keeps it") {
  CallTree tree;
  CHECK(tree.current() == CallTree::kRoot);
  tree.enter(7);
  tree.enter(8);
  const std::uint32_t deep = tree.current();
  tree.leave(8);
  tree.enter(9);
  tree.leave(9);
  tree.enter(8);
  CHECK(tree.current() == deep);
  tree.leave(8);
  tree.leave(7);
  CHECK(tree.current() == CallTree::kRoot);
  tree.enter(8);
  CHECK(tree.current() != deep);
  CHECK(tree.nodes().size() == 5);
  CHECK(tree.nodes()[deep].region == 8);
  CHECK(tree.nodes()[tree.nodes()[deep].parent].region == 7);
}

TEST("call tree: what was entered before the trace began is left without effect") {
  CallTree tree;
  tree.leave(3);
  tree.enter(4);
  const std::uint32_t here = tree.current();
  tree.leave(3);
  CHECK(tree.current() == here);
}

TEST("call tree: an endless recursion takes no more nodes than the deepest path has") {
  CallTree tree;
  for (int i = 0; i < 100000; ++i) tree.enter(1);
  CHECK(tree.nodes().size() == CallTree::kMaxDepth + 1);
  for (int i = 0; i < 100000; ++i) tree.leave(1);
  CHECK(tree.current() == CallTree::kRoot);
}

}  // namespace

}  // namespace tisim
