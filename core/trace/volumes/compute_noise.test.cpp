#include "trace/volumes/compute_noise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/test.hpp"

namespace tisim {

namespace {

std::vector<double> factors(const ComputeNoise& noise, std::int32_t rank, std::size_t count,
                            std::size_t batch) {
  ComputeNoiseStream stream(noise, rank);
  std::vector<Op> ops(count);
  for (std::size_t i = 0; i < count; ++i) {
    ops[i].kind = Kind::compute;
    ops[i].amount = 1.0;
  }
  for (std::size_t i = 0; i < count; i += batch) {
    stream.apply(ops.data() + i, std::min(batch, count - i));
  }
  std::vector<double> found;
  for (const Op& op : ops) found.push_back(op.amount);
  return found;
}

}  // namespace

TEST("compute noise: mean 1 and the standard deviation asked for") {
  for (const double variation : {0.05, 0.5}) {
    const std::vector<double> all = factors({variation, 7}, 3, 200000, 512);
    double sum = 0.0;
    double squares = 0.0;
    for (const double factor : all) {
      sum += factor;
      squares += (factor - 1.0) * (factor - 1.0);
    }
    const auto n = static_cast<double>(all.size());
    CHECK(std::fabs(sum / n - 1.0) < 4.0 * variation / std::sqrt(n));
    CHECK(std::fabs(std::sqrt(squares / n) / variation - 1.0) < 0.02);
  }
}

TEST("compute noise: the same in batches of any size, another for each rank and seed") {
  const ComputeNoise noise{0.1, 1};
  CHECK(factors(noise, 0, 100, 100) == factors(noise, 0, 100, 7));
  CHECK(factors(noise, 0, 100, 100) != factors(noise, 1, 100, 100));
  CHECK(factors(noise, 0, 100, 100) != factors({0.1, 2}, 0, 100, 100));
}

TEST("compute noise: another variation stretches the same deviations") {
  const double narrow = std::sqrt(std::log1p(0.01));
  const double wide = std::sqrt(std::log1p(0.04));
  const std::vector<double> a = factors({0.1, 5}, 2, 50, 50);
  const std::vector<double> b = factors({0.2, 5}, 2, 50, 50);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double z = std::log(a[i]) / narrow + narrow / 2.0;
    CHECK(test::close(std::log(b[i]), wide * (z - wide / 2.0), 1e-9));
  }
}

TEST("compute noise: only computations vary, and nothing without variation") {
  ComputeNoiseStream stream({0.3, 1}, 0);
  Op ops[2];
  ops[0].kind = Kind::sleep;
  ops[0].amount = 1.0;
  ops[1].kind = Kind::send;
  ops[1].bytes = 1000;
  stream.apply(ops, 2);
  CHECK(ops[0].amount == 1.0);
  CHECK(ops[1].bytes == 1000);
  CHECK(stream.is_on());
  CHECK(!ComputeNoiseStream({0.0, 9}, 0).is_on());
}

}  // namespace tisim
