#include "goal/unmatched.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "core/test.hpp"

namespace tisim {

TEST("goal: the oldest that fits is taken, as a search through all would find it") {
  struct One {
    std::int32_t source, tag;
    std::uint32_t value;
  };
  std::mt19937 draw(7);
  const auto any_or = [&draw](std::int32_t most) {
    return static_cast<std::int32_t>(draw() % static_cast<std::uint32_t>(most + 2)) - 1;
  };
  const auto fits = [](std::int32_t one, std::int32_t other) {
    return one == other || one == kGoalAny || other == kGoalAny;
  };
  Unmatched unmatched;
  std::vector<One> all;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const std::int32_t source = any_or(3), tag = any_or(2);
    if (draw() % 2 == 0 && all.size() < 40) {
      unmatched.add(source, tag, i);
      all.push_back({source, tag, i});
      continue;
    }
    const auto found = std::find_if(all.begin(), all.end(), [&](const One& one) {
      return fits(one.source, source) && fits(one.tag, tag);
    });
    const auto taken = unmatched.take(source, tag);
    CHECK(taken.has_value() == (found != all.end()));
    if (found == all.end()) continue;
    CHECK(*taken == found->value);
    all.erase(found);
    CHECK(unmatched.size() == all.size());
  }
}

}  // namespace tisim
