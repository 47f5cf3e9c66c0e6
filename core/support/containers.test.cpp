#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/test.hpp"
#include "support/heap.hpp"
#include "support/number_index.hpp"
#include "support/short_list.hpp"
#include "support/stack.hpp"
#include "support/time_bins.hpp"

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
  stack.reserve(3);  // less than its capacity
  CHECK(stack.capacity() >= 4);
}

TEST("stack: emptied for long, it keeps little room and gives much back") {
  Stack<std::int64_t> stack;
  stack.push_back(1);
  stack.clear_and_release();
  CHECK(stack.empty() && stack.capacity() > 0);
  stack.grow_to(1U << 17);
  CHECK(stack.size() == 1U << 17);
  stack.clear_and_release();
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

namespace {

struct Positions {
  std::vector<std::int32_t>* at;
  void set(std::uint32_t id, std::int32_t position) const { (*at)[id] = position; }
  std::int32_t get(std::uint32_t id) const { return (*at)[id]; }
};

struct Sample {
  explicit Sample(std::size_t ids, std::uint32_t sequence = 0)
      : positions(ids, -1), heap(Positions{&positions}, sequence) {}

  std::vector<std::uint32_t> drained() {
    std::vector<std::uint32_t> ids;
    while (!heap.empty()) {
      ids.push_back(heap.top_id());
      heap.pop();
    }
    return ids;
  }

  std::vector<std::int32_t> positions;
  EventHeap<Positions> heap;
};

void check_as_sorted_map(std::uint32_t sequence) {
  constexpr std::uint32_t kIds = 200;
  std::mt19937 random(7);
  Sample s(kIds, sequence);
  // Dates with their insertion order, which the heap must preserve.
  std::map<std::pair<double, std::uint64_t>, std::uint32_t> expected;
  std::map<std::uint32_t, std::pair<double, std::uint64_t>> key_of;
  for (std::uint64_t step = 0; step < 20000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % kIds);
    const auto what = random() % 4;
    const auto known = key_of.find(id);
    if (what == 0 && !expected.empty()) {
      CHECK(s.heap.top_id() == expected.begin()->second);
      CHECK(s.heap.top_date() == expected.begin()->first.first);
      key_of.erase(expected.begin()->second);
      expected.erase(expected.begin());
      s.heap.pop();
    } else if (what == 1) {
      s.heap.remove(id);
      if (known != key_of.end()) {
        expected.erase(known->second);
        key_of.erase(known);
      }
    } else {
      const auto date = static_cast<double>(random() % 50);
      s.heap.update(date, id);
      if (known != key_of.end()) expected.erase(known->second);
      key_of[id] = {date, step};
      expected[{date, step}] = id;
    }
    CHECK(s.heap.size() == expected.size());
  }
}
}  // namespace

TEST("heap: random pushes, moves and removals leave as from a sorted map") {
  check_as_sorted_map(0);
}

TEST("heap: the order of equal dates stays when sequence numbers begin anew") {
  check_as_sorted_map(~std::uint32_t{0} - 5000);
}

namespace {

// Objects that consist only of keys.
struct Keyed {
  explicit Keyed(std::uint64_t (*hash_)(std::uint64_t)) : hash(hash_) {}

  std::int32_t find(std::uint64_t key) const {
    return index.find(hash(key), [&](std::int32_t number) {
      return keys[static_cast<std::size_t>(number)] == key;
    });
  }
  std::int32_t add(std::uint64_t key) {
    const auto number = static_cast<std::int32_t>(keys.size());
    keys.push_back(key);
    index.insert(number, [&](std::int32_t n) { return hash(keys[static_cast<std::size_t>(n)]); });
    return number;
  }
  void erase(std::uint64_t key) {
    index.erase(find(key), [&](std::int32_t n) { return hash(keys[static_cast<std::size_t>(n)]); });
  }

  std::uint64_t (*hash)(std::uint64_t);
  std::vector<std::uint64_t> keys;
  NumberIndex index;
};

}  // namespace

TEST("number index: objects that have new numbers are found by them") {
  Keyed keyed(&hash_of);
  for (std::uint64_t key = 0; key < 1000; ++key) keyed.add(key);
  std::erase_if(keyed.keys, [](std::uint64_t key) { return key % 5 > 0; });
  keyed.index.renumber(keyed.keys.size(), [&](std::int32_t number) {
    return hash_of(keyed.keys[static_cast<std::size_t>(number)]);
  });
  CHECK(keyed.index.size() == 200);
  for (std::uint64_t key = 0; key < 1000; ++key) {
    CHECK(keyed.find(key) == (key % 5 > 0 ? -1 : static_cast<std::int32_t>(key / 5)));
  }
  for (std::uint64_t key = 1000; key < 3000; ++key) keyed.add(key);
  for (std::uint64_t key = 1000; key < 3000; ++key) {
    CHECK(keyed.find(key) == static_cast<std::int32_t>(key - 800));
  }
}

TEST("number index: what was taken out is gone, and all others are found") {
  std::mt19937_64 random(5);
  // The second hash has few home positions, including the last ones.
  for (const auto hash : {&hash_of, +[](std::uint64_t key) { return ~(key % 7); }}) {
    Keyed keyed(hash);
    std::vector<bool> there(300, false);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t key = random() % there.size();
      CHECK((keyed.find(key) >= 0) == there[key]);
      if (there[key]) {
        keyed.erase(key);
      } else {
        keyed.add(key);
      }
      there[key] = !there[key];
    }
    for (std::uint64_t key = 0; key < there.size(); ++key) {
      CHECK((keyed.find(key) >= 0) == there[key]);
    }
  }
}

namespace {

double sum(const std::vector<double>& amounts) {
  return std::accumulate(amounts.begin(), amounts.end(), 0.0);
}

}  // namespace

TEST("time bins: what comes evenly is in each bin that it touches by its part there") {
  TimeBins bins(1, 8);
  bins.bin_of(7.5);  // so that a bin is one second
  CHECK(bins.width() == 1.0);
  bins.spread(0, 0.5, 3.0, 5.0);
  CHECK(bins.of(0)[0] == 1.0);
  CHECK(bins.of(0)[1] == 2.0);
  CHECK(bins.of(0)[2] == 2.0);
  CHECK(bins.of(0)[3] == 0.0);
  bins.spread(0, 6.0, 6.0, 4.0);
  CHECK(bins.of(0)[6] == 4.0);
}

TEST("time bins: wider bins keep the sums") {
  TimeBins bins(1, 4);
  const std::size_t other = bins.add_series();
  bins.spread(0, 0.0, 1e-6, 3.0);
  bins.spread(0, 1e-6, 5.0, 7.0);
  bins.spread(other, 2.0, 1000.0, 11.0);
  CHECK(test::close(sum(bins.of(0)), 10.0));
  CHECK(test::close(sum(bins.of(other)), 11.0));
  CHECK(bins.width() * 4 > 1000.0);
  CHECK(bins.of(0)[1] == 0.0);
}

}  // namespace tisim
