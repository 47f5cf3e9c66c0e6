#include "graph/graph_run.hpp"

#include <random>

#include "core/test.hpp"

namespace tisim {

namespace {

// Two lanes that compute during a meeting that takes half of the SMs, `times` times.
GraphPrograms overlapping(std::int32_t times) {
  GraphPrograms p;
  p.nodes = {{NodeKind::compute, 0, 0, 0, 3.0, 0.0},
             {NodeKind::record, 0, 0, 0, 0.0, 0.0},
             {NodeKind::meet, 1, 0, 0, 0.0, 0.0},
             {NodeKind::wait, 1, 0, 0, 0.0, 0.0},
             {NodeKind::repeat, 0, 0, times, 0.0, 0.0}};
  p.blocks = {{0, 4}, {4, 5}};
  p.lanes = {1, 1};
  p.calls = {{.seconds = 2.0, .sms = 0.5}};
  p.parties = {2};
  p.use_ends = {0};
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
  // The next meeting begins with the kernel: 2 s in parallel, 2 s alone.
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
  CHECK(run.current_nodes().size() == 2);
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
  CHECK(refuses([](GraphPrograms& p) { p.use_ends = {1}; }));
  CHECK(refuses([](GraphPrograms& p) { p.links = {0.0}; }));
  CHECK(refuses([](GraphPrograms& p) { p.calls[0].bytes = 1.0; }));
}

TEST("graph: channels of meetings share links, and the rest goes on alone") {
  GraphPrograms p;
  p.nodes = {{NodeKind::meet, 0, 0, 0}, {NodeKind::meet, 1, 1, 1}};
  p.blocks = {{0, 2}};
  p.lanes = {0, 0};
  // One channel of 4 bytes and three of 2 bytes, on links of 4 and 1.5 bytes/s.
  p.calls = {{.seconds = 1.0, .bytes = 4.0, .rate = 2.0},
             {.seconds = 1.0, .bytes = 2.0, .rate = 9.0}};
  p.parties = {2, 2};
  p.links = {4.0, 1.5};
  p.uses = {{0, 1.0}, {0, 3.0}, {1, 1.0}};
  p.use_ends = {1, 3};
  p.streams = 2;
  GraphRun run(p, true);
  finish(run);
  CHECK(run.is_done());
  // Each channel gets 1 byte/s of the four: 2 s; then the first gets its 2 bytes/s.
  CHECK(run.spans().size() == 4);
  CHECK(test::close(run.spans()[0].end, 3.0, 1e-12));
  CHECK(test::close(run.now(), 4.0, 1e-12));
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
    if (random() % 2 == 0) {
      p.calls[0].bytes = 1.0 + static_cast<double>(random() % 9);
      p.calls[0].rate = 1.0 + static_cast<double>(random() % 3);
      p.links = {1.0 + static_cast<double>(random() % 3)};
      p.uses = {{0, 1.0}};
      p.use_ends = {1};
    }
    GraphRun run(p, false);
    finish(run);
    CHECK(run.is_done());
  }
}

}  // namespace tisim
