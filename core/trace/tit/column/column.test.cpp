// Columns of values, exact and with reduced precision.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>

#include "core/test.hpp"
#include "trace/tit/column/column_coder.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/tit/column/site_model.hpp"

namespace tisim::tit {

namespace {

using Values = std::vector<std::uint64_t>;

// Values of various shapes: constant, few distinct, normal, exponential, wide, mixed with none.
Values random_values(std::mt19937_64& random, std::size_t size) {
  const unsigned shape = static_cast<unsigned>(random() % 7);
  const std::uint64_t base = random() >> (random() % 64);
  Values distinct;
  for (unsigned i = 0; i < 1 + random() % 9; ++i) distinct.push_back(random() >> (random() % 64));
  std::normal_distribution<double> normal(1e5, 300.0);
  std::exponential_distribution<double> exponential(1e-3);
  Values values;
  for (std::size_t i = 0; i < size; ++i) {
    switch (shape) {
      case 0:
        values.push_back(base);
        break;
      case 1:
        values.push_back(distinct[random() % distinct.size()]);
        break;
      case 2:
        values.push_back(static_cast<std::uint64_t>(std::fabs(normal(random))));
        break;
      case 3:
        values.push_back(static_cast<std::uint64_t>(exponential(random)));
        break;
      case 4:
        values.push_back(random());
        break;
      case 5:
        values.push_back(random() % 4 == 0 ? 0 : distinct[0] + random() % 16);
        break;
      default:
        values.push_back(random() >> (random() % 64));
    }
  }
  return values;
}

SiteModel read_back(const SiteModel& model) {
  Bytes bytes;
  model.write(bytes);
  ByteReader reader(bytes.data);
  SiteModel back = SiteModel::read(reader);
  CHECK(reader.at_end());
  return back;
}

}  // namespace

TEST("tit column: values of any distribution come back") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t sites = 1 + random() % 4;
    std::vector<Values> values;
    std::vector<SiteModel> models;
    for (std::size_t i = 0; i < sites; ++i) {
      values.push_back(random_values(random, 1 + random() % (round % 10 == 0 ? 3000 : 40)));
      models.push_back(SiteModel::fit(values.back()));
    }
    ColumnEncoder encoder(models);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> order;
    std::vector<std::size_t> taken(sites, 0);
    for (std::size_t i = 0; i < 200 * sites; ++i) {
      const auto site = static_cast<std::uint32_t>(random() % sites);
      if (taken[site] == values[site].size()) continue;
      order.emplace_back(site, values[site][taken[site]++]);
      encoder.add(site, order.back().second);
    }
    const std::string stream = encoder.finish();
    std::vector<SiteModel> back;
    for (const SiteModel& model : models) back.push_back(read_back(model));
    ColumnDecoder decoder;
    decoder.start(stream.data(), stream.data() + stream.size());
    bool equal = true;
    for (const auto& [site, value] : order) equal = decoder.next(back[site]) == value && equal;
    CHECK(equal && decoder.finished());
  }
}

TEST("tit column: values take what their distribution says, and little more") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 60; ++round) {
    const Values values = random_values(random, 4000);
    const SiteModel model = SiteModel::fit(values);
    ColumnEncoder encoder({model});
    for (const std::uint64_t value : values) encoder.add(0, value);
    const double bits = model.coded_bits(Histogram(values));
    CHECK(static_cast<double>(encoder.finish().size()) <= bits / 8 * 1.001 + 18);
  }
}

TEST("tit column: the entropy of a skewed distribution is reached") {
  std::mt19937_64 random(3);
  std::geometric_distribution<std::uint64_t> geometric(0.05);
  Values values;
  for (int i = 0; i < 100'000; ++i) values.push_back(geometric(random));
  const Histogram histogram(values);
  double entropy = 0;
  for (const ValueCount& value : histogram.counts()) {
    const auto count = static_cast<double>(value.count);
    entropy += count * std::log2(static_cast<double>(values.size()) / count);
  }
  const SiteModel model = SiteModel::fit(values);
  CHECK(model.coded_bits(histogram) < entropy * 1.002);
  Bytes bytes;
  model.write(bytes);
  CHECK(bytes.data.size() < 500);
}

TEST("tit column: short streams take a few bytes") {
  ColumnEncoder encoder({SiteModel::fit({1, 2, 3, 4, 5, 6, 7, 8}), SiteModel::fit({5})});
  CHECK(encoder.finish().empty());
  encoder.add(0, 7);
  encoder.add(1, 5);
  encoder.add(0, 3);
  CHECK(encoder.finish().size() <= 5);
  for (int i = 0; i < 30; ++i) encoder.add(0, 1 + static_cast<std::uint64_t>(i) % 8);
  CHECK(encoder.finish().size() <= 20);
  ColumnEncoder constant({SiteModel::fit(Values(1000, 5))});
  for (int i = 0; i < 1000; ++i) constant.add(0, 5);
  CHECK(constant.finish().size() == 2);
}

TEST("tit column: states that fill at different rates come back") {
  // All information goes into one of the states.
  std::mt19937_64 random(4);
  const SiteModel wide = SiteModel::fit({0, UINT64_MAX, UINT64_MAX / 2, 12345});
  ColumnEncoder encoder({wide, SiteModel::fit({9})});
  Values values;
  for (int i = 0; i < 50; ++i) {
    values.push_back(std::vector<std::uint64_t>{0, UINT64_MAX, 12345}[random() % 3]);
    encoder.add(0, values.back());
    for (unsigned k = 1; k < kStates; ++k) encoder.add(1, 9);
  }
  const std::string stream = encoder.finish();
  ColumnDecoder decoder;
  decoder.start(stream.data(), stream.data() + stream.size());
  const SiteModel nine = SiteModel::fit({9});
  for (const std::uint64_t value : values) {
    CHECK(decoder.next(wide) == value);
    for (unsigned k = 1; k < kStates; ++k) CHECK(decoder.next(nine) == 9);
  }
  CHECK(decoder.finished());
}

TEST("tit column: one bin of all numbers, and more distinct values than a model has bins") {
  std::mt19937_64 random(5);
  Values values;
  for (int i = 0; i < 30'000; ++i)
    values.push_back(i % 3 != 0 ? random() : 7919U * (random() % 6000));
  const SiteModel model = read_back(SiteModel::fit(values));
  CHECK(model.bins().size() <= kAllFrequencies);
  CHECK(model.largest() >= *std::max_element(values.begin(), values.end()));
  ColumnEncoder encoder({model});
  for (const std::uint64_t value : values) encoder.add(0, value);
  const std::string stream = encoder.finish();
  ColumnDecoder decoder;
  decoder.start(stream.data(), stream.data() + stream.size());
  bool equal = true;
  for (const std::uint64_t value : values) equal = decoder.next(model) == value && equal;
  CHECK(equal && decoder.finished());
}

TEST("tit column: models that are none are refused") {
  const auto read = [](std::initializer_list<int> bytes) {
    std::string data;
    for (const int byte : bytes) data += static_cast<char>(byte);
    ByteReader reader(data);
    SiteModel::read(reader);
  };
  CHECK_THROWS(read({65, 0}), FormatError, "the number of bits of a value is 65");
  CHECK_THROWS(read({1, 4}), FormatError, "not a tree");
  CHECK_THROWS(read({1, 1, 0}), FormatError, "end too early");
  CHECK_THROWS(read({0, 1, 0, 0, 0, 0}), FormatError, "not a tree");
  CHECK_THROWS(read({1, 1, 0, 0, 0, 0xff, 0x1f}), FormatError, "weights of a model are too large");
  CHECK_THROWS(read({1, 1, 0, 0, 0, 0x80, 0x20}), FormatError, "the weight of a bin is 4096");
  std::string many(1, 14);
  for (int i = 0; i < (1 << 14) - 1; ++i) many += static_cast<char>(BinTree::kBothHalves);
  std::string bushy(1, 13);
  // A complete tree of 8,192 bins, in preorder.
  const auto grow = [&](const auto& self, int depth) -> void {
    bushy += static_cast<char>(depth == 0 ? BinTree::kBin : BinTree::kBothHalves);
    for (int half = 0; depth > 0 && half < 2; ++half) self(self, depth - 1);
  };
  grow(grow, 13);
  for (const std::string& bytes : {many, bushy}) {
    ByteReader reader(bytes);
    CHECK_THROWS(SiteModel::read(reader), FormatError, "");
  }
}

TEST("tit column: a damaged stream gives values of the model or is refused") {
  std::mt19937_64 random(6);
  Values values;
  for (int i = 0; i < 500; ++i) values.push_back(random() % 1000 + (i % 50 == 0 ? 1ULL << 40 : 0));
  const SiteModel model = SiteModel::fit(values);
  ColumnEncoder encoder({model});
  for (const std::uint64_t value : values) encoder.add(0, value);
  const std::string stream = encoder.finish();
  for (int i = 0; i < 500; ++i) {
    std::string damaged = stream;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    ColumnDecoder decoder;
    try {
      decoder.start(damaged.data(), damaged.data() + damaged.size());
    } catch (const FormatError&) {
      continue;
    }
    for (std::size_t k = 0; k < 2 * values.size(); ++k) {
      CHECK(decoder.next(model) <= model.largest());
    }
  }
}

TEST("tit column: sites that are alike or rare share models, and these come back") {
  std::mt19937_64 random(7);
  std::vector<Histogram> sites;
  for (int i = 0; i < 40; ++i) {
    Values values;
    for (int k = 0; k < 30; ++k) values.push_back(1000 + random() % 50);
    sites.emplace_back(values);
  }
  Values other;
  for (int k = 0; k < 30'000; ++k) other.push_back(random() % 7);
  sites.emplace_back(other);
  const ModelSet set = ModelSet::fit(sites);
  CHECK(set.models.size() <= 4);
  CHECK(set.model_of.size() == sites.size());
  CHECK(std::count(set.model_of.begin(), set.model_of.end(), set.model_of.back()) == 1);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    CHECK(std::isfinite(set.models[set.model_of[i]].coded_bits(sites[i])));
  }
  Bytes bytes;
  set.write(bytes);
  ByteReader reader(bytes.data);
  const ModelSet back = ModelSet::read(reader, sites.size());
  CHECK(reader.at_end() && back.model_of == set.model_of);
  Bytes again;
  back.write(again);
  CHECK(again.data == bytes.data);
  ByteReader unknown(std::string_view("\x00\x02", 2));
  CHECK_THROWS(ModelSet::read(unknown, 2), FormatError, "the number of a model is 2");
  ByteReader hostile(std::string_view("\x00\x00", 2));
  CHECK_THROWS(ModelSet::read(hostile, 1000), FormatError, "more models of sites than bytes");
}

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
      // If every volume is that of its bin, ranks are off by up to half of the level.
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
