#include "support/stack.hpp"

#include <algorithm>
#include <utility>

#include "core/test.hpp"
#include "support/short_list.hpp"

namespace tisim {

static_assert(sizeof(Stack<double>) == 16);
static_assert(sizeof(ShortList<double>) == 16);

TEST("stack: what was appended is there, in its order, however far it grows") {
  Stack<std::int32_t> stack;
  CHECK(stack.empty());
  for (std::int32_t i = 0; i < 1000; ++i) stack.push_back(i);
  CHECK(stack.size() == 1000 && stack.capacity() >= 1000);
  bool same = true;
  for (std::int32_t i = 0; i < 1000; ++i) same = same && stack[static_cast<std::size_t>(i)] == i;
  CHECK(same && stack.back() == 999);
  stack.pop_back();
  CHECK(stack.back() == 998 && stack.end() - stack.begin() == 999);
}

TEST("stack: resized, it keeps its items and gets new ones") {
  Stack<std::int32_t> stack;
  stack.push_back(1);
  stack.push_back(2);
  stack.resize(4, 7);
  CHECK(stack.size() == 4 && stack[1] == 2 && stack[3] == 7);
  stack.resize(1, 8);
  CHECK(stack.size() == 1 && stack[0] == 1);
  stack.reserve(3);  // less than there is
  CHECK(stack.capacity() >= 4);
}

TEST("stack: emptied for long, it keeps little room and gives much back") {
  Stack<std::int64_t> stack;
  stack.push_back(1);
  stack.clear_for_long();
  CHECK(stack.empty() && stack.capacity() > 0);
  stack.grow_to(1U << 17);
  CHECK(stack.size() == 1U << 17);
  stack.clear_for_long();
  CHECK(stack.empty() && stack.capacity() == 0);
}

TEST("stack: moved, it leaves nothing behind") {
  Stack<std::int32_t> stack;
  stack.push_back(5);
  Stack<std::int32_t> other = std::move(stack);
  CHECK(other.size() == 1 && other[0] == 5);
  stack = {};
  stack.push_back(6);
  other = std::move(stack);
  CHECK(other.size() == 1 && other[0] == 6);
}

TEST("short list: one item in place, more of them elsewhere") {
  ShortList<double> list;
  CHECK(list.empty());
  list.push_back(1);
  CHECK(list.size() == 1 && list.front() == 1);
  const auto lies_in_place = [&list] {
    const auto* const at = reinterpret_cast<const char*>(list.begin());
    const auto* const start = reinterpret_cast<const char*>(&list);
    return at >= start && at < start + sizeof list;
  };
  CHECK(lies_in_place());
  for (int i = 2; i <= 9; ++i) list.push_back(i);
  CHECK(!lies_in_place());
  list.erase(list.begin() + 1);
  const double expected[] = {1, 3, 4, 5, 6, 7, 8, 9};
  CHECK(std::equal(list.begin(), list.end(), std::begin(expected), std::end(expected)));
  while (list.size() > 1) list.pop_back();
  CHECK(list.front() == 1);
  list.pop_back();
  CHECK(list.empty());
}

TEST("stack: where there is room, what is wanted is appended and nothing else") {
  Stack<int> stack;
  stack.push_back(1);
  for (int round = 0; round < 10; ++round) {
    stack.make_room(7);
    CHECK(stack.capacity() >= stack.size() + 7);
    for (int i = 0; i < 7; ++i) stack.append_if(i % 3 == 0, 10 * round + i);
  }
  CHECK(stack.size() == 31);
  CHECK(stack[0] == 1);
  CHECK(stack[1] == 0 && stack[2] == 3 && stack[3] == 6);
  CHECK(stack.back() == 96);
}

}  // namespace tisim
