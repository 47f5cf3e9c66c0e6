#include "tit/column/precision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tit/column/site_model.hpp"

namespace tisim {
namespace tit {

namespace {

struct Name {
  const char* name;
  Precision precision;
};

const std::array<Name, 6>& names() {
  using Level = Precision::Level;
  static const std::array<Name, 6> all{{{"exact", {Level::exact, 0}},
                                        {"1e-3", {Level::bounded, 1e-3}},
                                        {"1e-2", {Level::bounded, 1e-2}},
                                        {"5e-2", {Level::bounded, 5e-2}},
                                        {"mean", {Level::mean, 0}},
                                        {"histogram", {Level::drawn, 0}}}};
  return all;
}

constexpr unsigned kMostPlaces = 15;

long double power_of_ten(unsigned exponent) {
  long double power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

long double exact_value(const Decimal& decimal) {
  return static_cast<long double>(decimal.digits) / power_of_ten(decimal.places);
}

// The decimal next to `value` with steps of at most `step`, or of 10^-15.
Decimal rounded(long double value, long double step) {
  Decimal made;
  while (made.places < kMostPlaces && 1 / power_of_ten(made.places) > step) ++made.places;
  // Steps of more than 1 leave zeros at the end.
  long double unit = 1;
  while (made.places == 0 && unit * 10 <= step) unit *= 10;
  const long double scaled = value * power_of_ten(made.places) / unit;
  made.digits = static_cast<std::uint64_t>(scaled + 0.5L) * static_cast<std::uint64_t>(unit);
  for (; made.places > 0 && made.digits % 10 == 0; made.digits /= 10) --made.places;
  return made;
}

std::uint64_t scrambled(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31);
}

}  // namespace

Precision Precision::of(std::string_view name) {
  for (const Name& known : names()) {
    if (name == known.name) return known.precision;
  }
  throw std::invalid_argument("volumes are kept exact, to 1e-3, 1e-2 or 5e-2, or as their mean");
}

std::string Precision::name() const {
  for (const Name& known : names()) {
    if (known.precision.level == level && known.precision.error == error) return known.name;
  }
  return {};
}

std::string Decimal::text() const {
  std::string text = std::to_string(digits);
  if (places == 0) return text;
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  text.insert(text.size() - places, 1, '.');
  return text;
}

double Decimal::value() const { return static_cast<double>(exact_value(*this)); }

Representatives::Representatives(std::vector<double> volumes, const Precision& precision) {
  std::sort(volumes.begin(), volumes.end());
  if (volumes.front() == volumes.back()) return;
  const bool is_mean = precision.level == Precision::Level::mean;
  // What rounding the representatives may take away.
  const double error = 0.95 * precision.error;
  Bin bin{0, 0, 0, {}};
  double first = 0;
  for (auto next = volumes.begin(); next != volumes.end();) {
    // All volumes that are equal go into one bin.
    const double volume = *next;
    const auto after = std::upper_bound(next, volumes.end(), volume);
    const auto count = static_cast<std::uint64_t>(after - next);
    const long double sum = static_cast<long double>(volume) * static_cast<long double>(count);
    const long double mean = (bin.sum + sum) / static_cast<long double>(bin.count + count);
    if (bin.count > 0 && !is_mean &&
        (volume - mean > error * volume || mean - first > error * first)) {
      bins_.push_back(bin);
      bin = Bin{0, 0, 0, {}};
    }
    if (bin.count == 0) first = volume;
    bin.last = volume;
    bin.sum += sum;
    bin.count += count;
    next = after;
  }
  bins_.push_back(bin);
  unsigned significant = 4;
  for (double step = 5e-2; !is_mean && step > precision.error; step /= 10) ++significant;
  round_to(significant);
}

const Decimal& Representatives::of(double volume) const {
  const auto found =
      std::lower_bound(bins_.begin(), bins_.end(), volume,
                       [](const Bin& bin, double bound) { return bin.last < bound; });
  return (found == bins_.end() ? bins_.back() : *found).representative;
}

// Rounds all representatives to so many digits, but that of the bin with the largest sum: it makes
// the sum of the site right again.
void Representatives::round_to(unsigned significant) {
  const auto largest = std::max_element(bins_.begin(), bins_.end(),
                                        [](const Bin& a, const Bin& b) { return a.sum < b.sum; });
  long double all = 0;
  long double others = 0;
  for (Bin& bin : bins_) {
    all += bin.sum;
    const long double mean = bin.sum / static_cast<long double>(bin.count);
    long double step = 1;
    for (long double size = mean; size > 0 && size >= power_of_ten(significant); size /= 10) {
      step *= 10;
    }
    for (long double size = mean; size > 0 && size < power_of_ten(significant - 1); size *= 10) {
      step /= 10;
    }
    bin.representative = rounded(mean, step);
    if (&bin != &*largest) {
      others += exact_value(bin.representative) * static_cast<long double>(bin.count);
    }
  }
  constexpr long double kSumError = 1e-10L;
  const auto count = static_cast<long double>(largest->count);
  largest->representative = rounded((all - others) / count, kSumError * all / count);
}

// A model's slot and the offset in its bin are bits of a number that is as good as random.
std::uint64_t drawn_value(const SiteModel& model, std::uint64_t seed, std::uint64_t rank,
                          std::uint64_t site, std::uint64_t number) {
  std::uint64_t random = scrambled(seed + 0x9e3779b97f4a7c15U);
  for (const std::uint64_t part : {rank, site, number}) {
    random = scrambled((random ^ part) + 0x9e3779b97f4a7c15U);
  }
  const DecodingTable table = model.table();
  const std::uint32_t slot = static_cast<std::uint32_t>(random) & (kAllFrequencies - 1);
  const std::uint32_t place = slot & ((std::uint32_t{1} << table.shift) - 1);
  const Bucket& bucket = table.buckets[slot >> table.shift];
  const BinChoice& bin = bucket.choices[place >= bucket.choices[0].threshold ? 1 : 0];
  const std::uint64_t offset = scrambled(random + 0x9e3779b97f4a7c15U);
  return bin.low + (bin.width == 64 ? offset : offset & ((std::uint64_t{1} << bin.width) - 1));
}

}  // namespace tit
}  // namespace tisim
