#include "platform/model.hpp"

#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "core/model_testing.hpp"
#include "core/test.hpp"

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

}  // namespace tisim
