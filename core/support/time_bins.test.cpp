#include "support/time_bins.hpp"

#include <numeric>

#include "core/test.hpp"

namespace tisim {

namespace {

double sum(const std::vector<double>& amounts) {
  return std::accumulate(amounts.begin(), amounts.end(), 0.0);
}

}  // namespace

TEST("time bins: what comes evenly is in each bin that it touches by its part there") {
  TimeBins bins(1, 8);
  bins.bin_of(7.5);  // so that a bin is a second
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
