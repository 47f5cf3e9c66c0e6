#include "support/heap.hpp"

#include <map>
#include <random>
#include <vector>

#include "core/test.hpp"

namespace tisim {

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

}  // namespace

namespace {
void check_as_sorted_map(std::uint32_t sequence) {
  constexpr std::uint32_t kIds = 200;
  std::mt19937 random(7);
  Sample s(kIds, sequence);
  // Dates with the order in which they were given, as the heap has to keep them.
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

}  // namespace tisim
