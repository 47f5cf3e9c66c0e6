#include "trace/tit/column/precision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "trace/tit/column/site_model.hpp"

namespace tisim::tit {

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

constexpr unsigned kMaxPlaces = 15;

long double power_of_ten(unsigned exponent) {
  long double power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

long double exact_value(const Decimal& decimal) {
  return static_cast<long double>(decimal.digits) / power_of_ten(decimal.places);
}

// The decimal nearest to `value` with steps of at most `step`, or of 10^-15.
Decimal rounded(long double value, long double step) {
  Decimal made;
  while (made.places < kMaxPlaces && 1 / power_of_ten(made.places) > step) ++made.places;
  // Steps above 1 give trailing zeros.
  long double unit = 1;
  while (made.places == 0 && unit * 10 <= step) unit *= 10;
  const long double scaled = value * power_of_ten(made.places) / unit;
  made.digits = static_cast<std::uint64_t>(scaled + 0.5L) * static_cast<std::uint64_t>(unit);
  for (; made.places > 0 && made.digits % 10 == 0; made.digits /= 10) --made.places;
  return made;
}

// The unit of the last significant digit.
long double step_of(long double value, unsigned significant) {
  long double step = 1;
  for (long double size = value; size >= power_of_ten(significant); size /= 10) step *= 10;
  for (long double size = value; size > 0 && size < power_of_ten(significant - 1); size *= 10) {
    step /= 10;
  }
  return step;
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

Representatives::Representatives(std::vector<double> volumes, const Precision& precision)
    : error_(precision.error) {
  std::sort(volumes.begin(), volumes.end());
  const bool is_mean = precision.level == Precision::Level::mean;
  // A twentieth is reserved for rounding the means.
  const double error = 0.95 * precision.error;
  Bin bin{};
  for (auto next = volumes.begin(); next != volumes.end();) {
    // Equal volumes share a bin.
    const double volume = *next;
    const auto after = std::upper_bound(next, volumes.end(), volume);
    const auto count = static_cast<std::uint64_t>(after - next);
    const long double sum = static_cast<long double>(volume) * static_cast<long double>(count);
    const long double mean = (bin.sum + sum) / static_cast<long double>(bin.count + count);
    if (bin.count > 0 && !is_mean &&
        (volume - mean > error * volume || mean - bin.first > error * bin.first)) {
      bins_.push_back(bin);
      bin = Bin{};
    }
    if (bin.count == 0) bin.first = volume;
    bin.last = volume;
    bin.sum += sum;
    bin.count += count;
    next = after;
  }
  bins_.push_back(bin);
  constexpr unsigned kMinDigits = 4;
  constexpr unsigned kMaxDigits = 9;
  unsigned digits = kMinDigits;
  for (double step = 5e-2; !is_mean && step > precision.error; step /= 10) ++digits;
  if (!is_mean) find_adjacent(digits);
  while (round_to(digits) > 0.04 * precision.error && !is_mean && digits < kMaxDigits) ++digits;
  digits_ = digits;
}

std::size_t Representatives::bin_of(double volume) const {
  const auto match =
      std::lower_bound(bins_.begin(), bins_.end(), volume,
                       [](const Bin& bin, double bound) { return bin.last < bound; });
  return std::min(static_cast<std::size_t>(match - bins_.begin()), bins_.size() - 1);
}

const Decimal& Representatives::of_bin(std::size_t bin, Choice choice) const {
  const Bin& its = bins_[bin];
  return choice == Choice::bin     ? its.representative
         : choice == Choice::above ? its.above
                                   : its.below;
}

const Decimal* Representatives::of(double volume, Choice choice) const {
  const std::size_t bin = bin_of(volume);
  return is_kept(bin) ? nullptr : &of_bin(bin, choice);
}

bool Representatives::is_within_level(double volume, Choice choice) const {
  const Decimal* const decimal = of(volume, choice);
  return decimal != nullptr && std::fabs(decimal->value() - volume) <= error_ * volume;
}

// Adjacent bins share a representative between them, which about half of their volumes may use.
void Representatives::find_adjacent(unsigned significant) {
  const long double width = 0.95L * static_cast<long double>(error_);
  const auto mean_of = [&](std::size_t i) {
    return bins_[i].sum / static_cast<long double>(bins_[i].count);
  };
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const long double mean = mean_of(i);
    long double above = mean * (1 + width);
    if (i + 1 < bins_.size()) above = std::min(above, (mean + mean_of(i + 1)) / 2);
    long double below = mean * (1 - width);
    if (i > 0) below = std::max(below, (mean + mean_of(i - 1)) / 2);
    bins_[i].above = rounded(above, step_of(above, significant));
    bins_[i].below = rounded(below, step_of(below, significant));
  }
}

void Representatives::move(double volume, Choice choice) {
  Bin& bin = bins_[bin_of(volume)];
  ++bin.moved;
  moved_sum_ += exact_value(choice == Choice::above ? bin.above : bin.below);
}

bool Representatives::settle() {
  if (std::all_of(bins_.begin(), bins_.end(), [](const Bin& bin) { return bin.moved == 0; })) {
    return true;
  }
  round_to(digits_);
  if (are_within_level()) return true;
  for (Bin& bin : bins_) bin.moved = 0;
  moved_sum_ = 0;
  round_to(digits_);
  return false;
}

bool Representatives::are_within_level() const {
  return std::all_of(bins_.begin(), bins_.end(), [&](const Bin& bin) {
    const double kept = bin.representative.value();
    return bin.first == bin.last || bin.moved == bin.count ||
           (kept - bin.first <= error_ * bin.first && bin.last - kept <= error_ * bin.last);
  });
}

double Representatives::round_to(unsigned significant) {
  // Rounds the means, except that of the bin with the largest sum, which corrects the sum of the
  // site.
  const auto unmoved_sum = [](const Bin& bin) {
    return bin.sum / static_cast<long double>(bin.count) *
           static_cast<long double>(bin.count - bin.moved);
  };
  Bin* largest = nullptr;
  long double all = 0;
  long double reduced = 0;  // sum of the volumes that are replaced
  long double unmoved = 0;  // sum of those that keep their bin
  for (Bin& bin : bins_) {
    all += bin.sum;
    if (bin.first == bin.last) continue;
    reduced += bin.sum;
    unmoved += unmoved_sum(bin);
    if (largest == nullptr || unmoved_sum(bin) > unmoved_sum(*largest)) largest = &bin;
  }
  if (largest == nullptr || largest->moved == largest->count) return 0;
  // The excess of moved volumes is subtracted from all others.
  const long double scale = moved_sum_ > 0 ? (reduced - moved_sum_) / unmoved : 1;
  long double missing = 0;
  for (Bin& bin : bins_) {
    if (bin.first == bin.last || &bin == largest) continue;
    const long double mean = bin.sum / static_cast<long double>(bin.count) * scale;
    bin.representative = rounded(mean, step_of(mean, significant));
    const auto count = static_cast<long double>(bin.count - bin.moved);
    missing += mean * count - exact_value(bin.representative) * count;
  }
  constexpr long double kSumError = 1e-10L;
  const auto count = static_cast<long double>(largest->count - largest->moved);
  const long double mean = largest->sum / static_cast<long double>(largest->count) * scale;
  largest->representative = rounded(mean + missing / count, kSumError * all / count);
  return std::fabs(static_cast<double>(missing / largest->sum));
}

void choose(const Representatives& representatives, const Precision& precision,
            const double* volumes, std::size_t count, Choice* choices) {
  // Errors spread evenly over a bin have a standard deviation of 0.58 of half its width.
  constexpr double kDeviations = 2 * 0.58;
  constexpr double kSteps = 4;
  constexpr double kPart = 50;
  const auto error_of = [&](double volume, Choice choice) {
    const Decimal* const representative = representatives.of(volume, choice);
    return representative != nullptr ? representative->value() - volume : 0;
  };
  std::fill(choices, choices + count, Choice::bin);
  double excess = 0;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    excess += error_of(volumes[i], Choice::bin);
    squares += volumes[i] * volumes[i];
  }
  if (std::fabs(excess) <= kDeviations * precision.error * std::sqrt(squares)) return;
  excess = 0;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double volume = volumes[i];
    sum += volume;
    const double ahead = excess + error_of(volume, Choice::bin);
    if (std::fabs(ahead) > precision.error * std::max(kSteps * volume, sum / kPart)) {
      const Choice adjacent = ahead > 0 ? Choice::below : Choice::above;
      if (representatives.is_within_level(volume, adjacent)) choices[i] = adjacent;
    }
    excess += error_of(volume, choices[i]);
  }
}

// A model's slot and the offset in its bin are bits of a pseudo-random number.
std::uint64_t drawn_value(const SiteModel& model, std::uint64_t seed, std::uint64_t rank,
                          std::uint64_t site, std::uint64_t number) {
  std::uint64_t random = scrambled(seed + 0x9e3779b97f4a7c15U);
  for (const std::uint64_t part : {rank, site, number}) {
    random = scrambled((random ^ part) + 0x9e3779b97f4a7c15U);
  }
  const DecodingTable table = model.table();
  const BinChoice& bin = table.find(random & (kAllFrequencies - 1));
  const bool is_large = bin.width() == BinChoice::kLarge;
  const LargeBin range = is_large ? table.large_bins[bin.low()] : LargeBin{bin.low(), bin.width()};
  const std::uint64_t offset = scrambled(random + 0x9e3779b97f4a7c15U);
  return range.low +
         (range.width == 64 ? offset : offset & ((std::uint64_t{1} << range.width) - 1));
}

}  // namespace tisim::tit
