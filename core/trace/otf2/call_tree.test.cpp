// Call paths: what is entered from where, and what unmatched or endless functions do.
#include "trace/otf2/call_tree.hpp"

#include "core/test.hpp"

namespace tisim {
namespace {

TEST("call tree: a function has a node for each path to it, and keeps it") {
  CallTree tree;
  CHECK(tree.here() == CallTree::kRoot);
  tree.enter(7);
  tree.enter(8);
  const std::uint32_t deep = tree.here();
  tree.leave(8);
  tree.enter(9);
  tree.leave(9);
  tree.enter(8);
  CHECK(tree.here() == deep);
  tree.leave(8);
  tree.leave(7);
  CHECK(tree.here() == CallTree::kRoot);
  tree.enter(8);
  CHECK(tree.here() != deep);
  CHECK(tree.nodes().size() == 5);
  CHECK(tree.nodes()[deep].region == 8);
  CHECK(tree.nodes()[tree.nodes()[deep].parent].region == 7);
}

TEST("call tree: what was entered before the trace began is left without effect") {
  CallTree tree;
  tree.leave(3);
  tree.enter(4);
  const std::uint32_t here = tree.here();
  tree.leave(3);
  CHECK(tree.here() == here);
}

TEST("call tree: an endless recursion takes no more nodes than the deepest path has") {
  CallTree tree;
  for (int i = 0; i < 100000; ++i) tree.enter(1);
  CHECK(tree.nodes().size() == CallTree::kDeepest + 1);
  for (int i = 0; i < 100000; ++i) tree.leave(1);
  CHECK(tree.here() == CallTree::kRoot);
}

}  // namespace
}  // namespace tisim
