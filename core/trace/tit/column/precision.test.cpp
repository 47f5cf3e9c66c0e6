#include "trace/tit/column/precision.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>

#include "core/test.hpp"
#include "trace/tit/column/site_model.hpp"

namespace tisim::tit {

namespace {

using Volumes = std::vector<double>;

Volumes random_volumes(std::mt19937_64& random, std::size_t size) {
  const double scale = std::pow(10.0, static_cast<double>(random() % 15) - 4);
  std::lognormal_distribution<double> wide(0.0, 2.0);
  std::normal_distribution<double> narrow(1.0, 0.01);
  const unsigned shape = static_cast<unsigned>(random() % 3);
  Volumes volumes;
  for (std::size_t i = 0; i < size; ++i) {
    double volume = scale * (shape == 0   ? wide(random)
                             : shape == 1 ? std::fabs(narrow(random))
                                          : static_cast<double>(random() % 5));
    if (scale > 1) volume = std::floor(volume);
    volumes.push_back(std::min(volume, 9e14));
  }
  return volumes;
}

long double sum_of(const Volumes& volumes) {
  long double sum = 0;
  for (const double volume : volumes) sum += volume;
  return sum;
}

}  // namespace

TEST("tit precision: levels have names") {
  for (const char* name : {"exact", "1e-3", "1e-2", "5e-2", "mean", "histogram"}) {
    CHECK(Precision::of(name).name() == name);
  }
  CHECK_THROWS(Precision::of("1e-4"), std::invalid_argument, "1e-3, 1e-2 or 5e-2");
}

TEST("tit precision: each volume keeps to its level, and the sum of a site to 1e-9") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const Volumes volumes = random_volumes(random, 1 + random() % 3000);
    for (const char* name : {"1e-3", "1e-2", "5e-2", "mean"}) {
      const Precision precision = Precision::of(name);
      const Representatives representatives(volumes, precision);
      long double sum = 0;
      double worst = 0;
      for (const double volume : volumes) {
        const Decimal* const mean = representatives.of(volume);
        const double kept = mean != nullptr ? mean->value() : volume;
        sum += kept;
        if (volume > 0) worst = std::max(worst, std::fabs(kept - volume) / volume);
        if (volume == 0 && precision.level == Precision::Level::bounded) CHECK(kept == 0);
      }
      const long double all = sum_of(volumes);
      CHECK(std::fabs(static_cast<double>(sum - all)) <= 1e-9 * static_cast<double>(all));
      if (precision.level == Precision::Level::bounded) CHECK(worst <= precision.error);
      if (precision.level == Precision::Level::mean) CHECK(representatives.size() == 1);
    }
  }
}

TEST("tit precision: the sum of each rank holds, also where its volumes are all above their bins") {
  std::mt19937_64 random(5);
  for (const char* name : {"1e-3", "1e-2", "5e-2"}) {
    const Precision precision = Precision::of(name);
    std::uniform_real_distribution<double> of_rank(1e6 * (1 - 2 * precision.error),
                                                   1e6 * (1 + 2 * precision.error));
    std::normal_distribution<double> noise(1, precision.error / 50);
    std::vector<Volumes> ranks(16);
    Volumes all;
    for (Volumes& volumes : ranks) {
      const double its = of_rank(random);
      for (int i = 0; i < 2000; ++i) volumes.push_back(std::floor(its * noise(random)));
      all.insert(all.end(), volumes.begin(), volumes.end());
    }
    Representatives representatives(all, precision);
    std::vector<std::vector<Choice>> choices;
    for (const Volumes& volumes : ranks) {
      choices.emplace_back(volumes.size());
      choose(representatives, precision, volumes.data(), volumes.size(), choices.back().data());
      for (std::size_t i = 0; i < volumes.size(); ++i) {
        if (choices.back()[i] != Choice::bin) representatives.move(volumes[i], choices.back()[i]);
      }
    }
    CHECK(representatives.settle());
    long double kept_by_all = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      long double kept = 0;
      for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
        const double volume = ranks[rank][i];
        const Decimal* const stands = representatives.of(volume, choices[rank][i]);
        const double value = stands != nullptr ? stands->value() : volume;
        CHECK(std::fabs(value - volume) <= precision.error * volume);
        kept += value;
      }
      const long double own = sum_of(ranks[rank]);
      // Where every volume is that of its bin, ranks err by up to half of the level.
      CHECK(std::fabs(static_cast<double>((kept - own) / own)) < precision.error / 25);
      kept_by_all += kept;
    }
    const long double sum = sum_of(all);
    CHECK(std::fabs(static_cast<double>((kept_by_all - sum) / sum)) <= 1e-9);
  }
}

TEST("tit precision: few representatives stand for many volumes") {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(1e6, 1e5);
  Volumes volumes;
  for (int i = 0; i < 20'000; ++i) volumes.push_back(std::floor(std::fabs(normal(random))));
  CHECK(Representatives(volumes, Precision::of("1e-2")).size() < 60);
  CHECK(Representatives(volumes, Precision::of("5e-2")).size() < 15);
  CHECK(Representatives({7, 7, 7}, Precision::of("mean")).of(7) == nullptr);
  CHECK(Representatives({7, 9, 9.01}, Precision::of("1e-2")).of(7) == nullptr);
}

TEST("tit precision: decimals are written without zeros at the end") {
  CHECK((Decimal{12345, 2}.text() == "123.45"));
  CHECK((Decimal{5, 3}.text() == "0.005"));
  CHECK((Decimal{70, 0}.text() == "70"));
  CHECK(Representatives({1, 2}, Precision::of("mean")).of(1)->text() == "1.5");
}

TEST("tit precision: a drawn value is the same again, and values follow their model") {
  std::vector<std::uint64_t> values(3000, 4);
  values.insert(values.end(), 1000, 9);
  const SiteModel model = SiteModel::fit(values);
  int nines = 0;
  for (std::uint64_t i = 0; i < 8000; ++i) {
    const std::uint64_t value = drawn_value(model, 1, i % 16, 3, i);
    CHECK(value == drawn_value(model, 1, i % 16, 3, i));
    CHECK(value == 4 || value == 9);
    nines += value == 9 ? 1 : 0;
  }
  CHECK(nines > 1800 && nines < 2200);
  int different = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    different += drawn_value(model, 1, 0, 3, i) != drawn_value(model, 2, 0, 3, i) ? 1 : 0;
  }
  CHECK(different > 10);
}

}  // namespace tisim::tit
