#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model_testing.hpp"
#include "core/test.hpp"
#include "platform/model.hpp"
#include "platform/profiles.hpp"

namespace tisim {

TEST("model: that of the tests is in range") { check(test::plain_model()); }

TEST("model: every field is visited once") {
  Model model = test::plain_model();
  std::set<std::string> names;
  std::size_t visits = 0;
  for_each_field(model, [&](const char* name, auto&) {
    names.insert(name);
    ++visits;
  });
  CHECK(visits > 0 && names.size() == visits);
}

TEST("model: values out of range are refused, with the name of the field") {
  Model model = test::plain_model();
  model.weight_s = -1;
  CHECK_THROWS(check(model), std::invalid_argument, "weight_s");
  model = test::plain_model();
  model.envelope = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS(check(model), std::invalid_argument, "envelope");
  model = test::plain_model();
  model.precision_timing = 0;
  CHECK_THROWS(check(model), std::invalid_argument, "precision_timing");
  model = test::plain_model();
  model.bandwidth_factor.first = 0;
  CHECK_THROWS(check(model), std::invalid_argument, "bandwidth_factor");
  model = test::plain_model();
  model.eager_threshold = model.detached_threshold + 1;
  CHECK_THROWS(check(model), std::invalid_argument, "eager_threshold");
}

TEST("model: tables have rows in order and columns of one length") {
  Model model = test::plain_model();
  model.latency_factor.boundary = {10, 5};
  model.latency_factor.value = {1, 2};
  CHECK_THROWS(check(model), std::invalid_argument, "latency_factor has rows out of order");
  model.latency_factor.boundary = {5, 10, 20};
  CHECK_THROWS(check(model), std::invalid_argument, "latency_factor has columns");
  model = test::plain_model();
  model.overheads.clear();
  CHECK_THROWS(check(model), std::invalid_argument, "overheads");
  model.overheads.resize(1);
  model.overheads[0].send.boundary = {0};
  CHECK_THROWS(check(model), std::invalid_argument, "overheads has columns");
}

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
