// Volumes and calls as the writer lists them.
#include "trace/tit/writer/rank_program.hpp"

#include <random>
#include <set>

#include "core/test.hpp"

namespace tisim::tit {

TEST("volume sets: volumes are numbered in ascending order, small and large ones") {
  std::mt19937_64 random(1);
  for (const unsigned most_bits : {6U, 14U, 40U, 62U}) {
    std::set<std::uint64_t> expected;
    VolumeSet volumes(200);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t code = (random() >> 2) >> (62 - most_bits);
      expected.insert(code);
      volumes.add(code);
      volumes.add_place(0);
      CHECK(volumes.size() == expected.size());
    }
    volumes.number();
    CHECK(volumes.codes() == std::vector<std::uint64_t>(expected.begin(), expected.end()));
    std::uint64_t number = 0;
    for (const std::uint64_t code : expected) {
      CHECK(volumes.number_of(code) == number);
      CHECK(volumes.place_of(code + 1) == ++number);
    }
    CHECK(volumes.place_of(0) == 0);
  }
}

TEST("call lists: calls are named when they are met first, volumes without a call get one") {
  RankPart part(3);
  for (int i = 0; i < 3; ++i) part.define({});
  part.make(2);
  part.compute(7);
  part.compute(0);
  part.make(0);
  part.make(2);
  part.compute(9);
  CallList list;
  for (int round = 0; round < 2; ++round) {
    std::uint32_t next = 10;
    list.fill(
        part, [&](std::uint32_t) { return next++; }, [&] { return next++; });
    const std::uint32_t calls[] = {10, 11, 12, 10, 11};
    const std::uint64_t volumes[] = {0, 8, 1, 0, 10};
    CHECK(list.size() == 5);
    CHECK(std::equal(calls, calls + 5, list.calls()));
    CHECK(std::equal(volumes, volumes + 5, list.volumes()));
    CHECK(list.silence() == 11);
  }
  list.fill(
      RankPart(0), [](std::uint32_t call) { return call; }, [] { return 0U; });
  CHECK(list.size() == 0);
  CHECK(list.silence() == CallList::kNone);
}

TEST("volume costs: those of a rank do not depend on the ranks before") {
  std::mt19937_64 random(3);
  const auto part_of = [&](std::size_t size, unsigned distinct) {
    RankPart part(0);
    for (int i = 0; i < 3; ++i) part.define({});
    for (std::size_t i = 0; i < size; ++i) {
      part.compute(random() % distinct);
      part.make(static_cast<std::uint32_t>(random() % 3));
    }
    return part;
  };
  VolumeTables used;
  for (const std::size_t size : {5000U, 10U, 20000U, 300U}) {
    const RankPart part = part_of(size, 50);
    CallList calls;
    calls.fill(
        part, [](std::uint32_t call) { return call; }, [] { return 3U; });
    VolumeTables fresh;
    VolumeCosts costs, expected;
    CHECK(measure_volumes(part, calls, 100, used, costs));
    CHECK(measure_volumes(part, calls, 100, fresh, expected));
    CHECK(costs.column_bits == expected.column_bits);
    CHECK(costs.grammar_items == expected.grammar_items);
    CHECK(costs.distinct == expected.distinct);
    CHECK(costs.distinct <= 50);
  }
}

}  // namespace tisim::tit
