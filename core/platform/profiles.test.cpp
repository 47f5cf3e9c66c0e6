#include "platform/profiles.hpp"

#include <vector>

#include "core/test.hpp"

namespace tisim {

namespace {
ResourceProfile speeds(std::int32_t host, std::vector<double> times, std::vector<double> values,
                       double period = -1.0) {
  return {false, host, Quantity::speed, period, std::move(times), std::move(values)};
}
}  // namespace

TEST("changes: in the order of their dates, rounds after rounds") {
  const std::vector<ResourceProfile> profiles{speeds(0, {0, 2}, {0.5, 1}, 3),
                                              speeds(1, {1, 4}, {2, 3})};
  Changes changes(profiles);
  std::vector<double> dates;
  std::vector<double> values;
  for (int i = 0; i < 7; ++i) {
    const Change change = changes.pop();
    dates.push_back(change.date);
    values.push_back(change.value);
  }
  CHECK((dates == std::vector<double>{0, 1, 2, 3, 4, 5, 6}));
  CHECK((values == std::vector<double>{0.5, 2, 1, 0.5, 3, 1, 0.5}));
  CHECK(changes.next() == 8);
}

TEST("changes: what is still to come helps, or does not") {
  const std::vector<ResourceProfile> profiles{speeds(0, {0, 2}, {1, 0}), speeds(1, {1}, {0}, 5)};
  Changes changes(profiles);
  CHECK(changes.rises(false, 0, Quantity::speed));
  CHECK(!changes.rises(false, 1, Quantity::speed));
  CHECK(!changes.rises(true, 0, Quantity::speed));
  while (changes.next() <= 2) changes.pop();
  CHECK(!changes.rises(false, 0, Quantity::speed));
}

TEST("changes: a rank is killed once") {
  const std::vector<ResourceProfile> profiles;
  Changes changes(profiles);
  changes.kill(7, 2.5);
  CHECK(changes.kills() && changes.next() == 2.5);
  const Change change = changes.pop();
  CHECK(change.what == Quantity::life && change.index == 7);
  CHECK(!changes.kills() && changes.empty());
}

}  // namespace tisim
