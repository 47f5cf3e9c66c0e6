#include "graph/graph_run.hpp"

#include <random>

#include "core/test.hpp"

namespace tisim {

namespace {

// Two lanes that compute beside a meeting of half of the SMs, so often.
GraphPrograms overlapping(std::int32_t times) {
  GraphPrograms p;
  p.nodes = {{NodeKind::compute, 0, 0, 0, 3.0, 0.0},
             {NodeKind::record, 0, 0, 0, 0.0, 0.0},
             {NodeKind::meet, 1, 0, 0, 0.0, 0.0},
             {NodeKind::wait, 1, 0, 0, 0.0, 0.0},
             {NodeKind::repeat, 0, 0, times, 0.0, 0.0}};
  p.blocks = {{0, 4}, {4, 5}};
  p.lanes = {1, 1};
  p.calls = {{2.0, 0.5, 0.0}};
  p.parties = {2};
  p.streams = 2;
  p.events = 1;
  return p;
}

void finish(GraphRun& run) {
  while (run.run(1)) run.verify();
}

template <class F>
bool refuses(F spoil) {
  GraphPrograms p = overlapping(1);
  spoil(p);
  try {
    GraphRun(p, false);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

TEST("graph: a kernel beside a meeting has what that leaves") {
  GraphRun run(overlapping(1), true);
  finish(run);
  CHECK(run.is_done());
  CHECK(test::close(run.now(), 4.0));
  CHECK(test::close(run.occupations(0)[static_cast<std::size_t>(Occupation::overlapped)], 2.0));
  CHECK(run.spans().size() == 4);
}

TEST("graph: repeated blocks fill a queue, and the host thread waits") {
  GraphRun run(overlapping(5000), false);
  finish(run);
  CHECK(run.is_done());
  CHECK(run.launched() == 2 * 4 * 5000);
  // The next meeting begins with the kernel: 2 s beside it, 2 s alone.
  CHECK(test::close(run.now(), 4.0 * 5000, 1e-9));
}

TEST("graph: a delay takes nothing of the kernel beside it") {
  GraphPrograms p = overlapping(1);
  p.nodes[1] = {NodeKind::delay, 1, 0, 0, 5.0, 0.0};
  GraphRun run(p, false);
  finish(run);
  // The kernel ends at 3 s; the meeting begins at 5 s.
  CHECK(test::close(run.now(), 7.0));
  CHECK(test::close(run.occupations(0)[static_cast<std::size_t>(Occupation::overlapped)], 0.0));
}

TEST("graph: whoever is alone in a meeting stands there") {
  GraphPrograms p = overlapping(1);
  p.parties = {3};
  GraphRun run(p, false);
  finish(run);
  CHECK(!run.is_done());
  CHECK(run.standing().size() == 2);
}

TEST("graph: programs that do not fit together are refused") {
  CHECK(refuses([](GraphPrograms& p) { p.nodes[0].stream = 2; }));
  CHECK(refuses([](GraphPrograms& p) { p.nodes[1].target = 1; }));
  CHECK(refuses([](GraphPrograms& p) { p.nodes[2].count = 1; }));
  CHECK(refuses([](GraphPrograms& p) { p.nodes[4].target = 1; }));
  CHECK(refuses([](GraphPrograms& p) { p.nodes[4].count = 0; }));
  CHECK(refuses([](GraphPrograms& p) { p.nodes[0].arithmetic = -1; }));
  CHECK(refuses([](GraphPrograms& p) { p.blocks[1].end = 9; }));
  CHECK(refuses([](GraphPrograms& p) { p.lanes = {2}; }));
  CHECK(refuses([](GraphPrograms& p) { p.calls[0].sms = 1.0; }));
}

TEST("graph: random programs keep the invariants and end") {
  std::mt19937 random(7);
  for (std::uint32_t i = 0; i < test::campaign(50, 1000); ++i) {
    GraphPrograms p = overlapping(1 + static_cast<std::int32_t>(random() % 9));
    p.launch = static_cast<double>(random() % 3);
    for (Node& node : p.nodes) {
      if (node.kind == NodeKind::compute) node.memory = static_cast<double>(random() % 5);
      if (node.kind == NodeKind::record && random() % 2 == 0) node.kind = NodeKind::synchronize;
    }
    p.calls[0].memory = static_cast<double>(random() % 9) / 10;
    GraphRun run(p, false);
    finish(run);
    CHECK(run.is_done());
  }
}

}  // namespace tisim
