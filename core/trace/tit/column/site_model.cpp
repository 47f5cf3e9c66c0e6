#include "trace/tit/column/site_model.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "trace/tit/column/count_bits.hpp"

namespace tisim {
namespace tit {

namespace {

BinTree one_zero() {
  BinTree tree;
  tree.nodes.push_back(BinTree::kBin);
  tree.bins.emplace_back();
  return tree;
}

bool holds(const Bin& bin, std::uint64_t value) {
  return value >= bin.low && (bin.width == 64 || (value - bin.low) >> bin.width == 0);
}

}  // namespace

SiteModel::SiteModel() : SiteModel(one_zero()) { complete(); }

SiteModel::SiteModel(BinTree tree) : tree_(std::move(tree)) { set_frequencies(); }

SiteModel SiteModel::fit(std::vector<std::uint64_t> values) {
  return fit(Histogram(std::move(values)));
}

SiteModel SiteModel::fit(const Histogram& values) {
  SiteModel model = draft(values);
  model.complete();
  return model;
}

SiteModel SiteModel::draft(const Histogram& values) {
  SiteModel model(BinTree::choose(values));
  model.set_bin_bits();
  return model;
}

SiteModel SiteModel::read(ByteReader& in) {
  SiteModel model(BinTree::read(in));
  model.complete();
  return model;
}

std::uint64_t SiteModel::largest() const {
  const Bin& last = tree_.bins.back();
  if (last.width == 64) return std::numeric_limits<std::uint64_t>::max();
  return last.low + ((std::uint64_t{1} << last.width) - 1);
}

std::size_t SiteModel::bin_of(std::uint64_t value) const {
  const auto above =
      std::upper_bound(tree_.bins.begin(), tree_.bins.end(), value,
                       [](std::uint64_t bound, const Bin& bin) { return bound < bin.low; });
  const auto place = static_cast<std::size_t>(above - tree_.bins.begin());
  return place == 0 ? 0 : place - 1;
}

double SiteModel::coded_bits(const Histogram& values, double unknown_bits, double most) const {
  double bits = 0;
  std::size_t place = 0;
  for (const ValueCount& value : values.counts()) {
    while (place + 1 < tree_.bins.size() && tree_.bins[place + 1].low <= value.value) ++place;
    const auto times = static_cast<double>(value.count);
    bits += holds(tree_.bins[place], value.value) ? bin_bits_[place] * times : unknown_bits + times;
    if (bits > most) break;
  }
  return bits;
}

double SiteModel::coded_bits(const Histogram& values) const {
  double bits = 0;
  std::size_t place = 0;
  for (const ValueCount& value : values.counts()) {
    while (place + 1 < tree_.bins.size() && tree_.bins[place + 1].low <= value.value) ++place;
    if (!holds(tree_.bins[place], value.value)) return std::numeric_limits<double>::infinity();
    bits += bin_bits_[place] * static_cast<double>(value.count);
  }
  return bits;
}

double SiteModel::sharing_bits(std::uint64_t own, const Histogram& values) const {
  constexpr std::uint32_t kRange = kAllFrequencies / 8;  // of its own values, at least
  const CountBits& of = CountBits::get();
  const auto told_apart = [&](std::uint64_t a, std::uint64_t b) {
    return of.times_log(a + b) - of.times_log(a) - of.times_log(b);
  };
  double bits = told_apart(own, values.total());
  auto value = values.counts().begin();
  const auto last_value = values.counts().end();
  while (value != last_value && value->value < tree_.bins.front().low) ++value;
  for (std::size_t bin = 0; bin < tree_.bins.size();) {
    std::uint64_t frequency = 0;
    while (bin < tree_.bins.size() && frequency < kRange) frequency += frequencies_[bin++];
    const std::uint64_t end = bin < tree_.bins.size() ? tree_.bins[bin].low - 1 : largest();
    std::uint64_t count = 0;
    for (; value != last_value && value->value <= end; ++value) count += value->count;
    bits -= told_apart(own * frequency / kAllFrequencies, count);
  }
  return bits;
}

// The shares of the weights in 4,096, rounded so that their sum is exact.
void SiteModel::set_frequencies() {
  std::uint64_t all = 0;
  for (const Bin& bin : tree_.bins) all += bin.weight;
  std::uint64_t weights = 0;
  std::uint64_t before = 0;
  frequencies_.reserve(tree_.bins.size());
  for (const Bin& bin : tree_.bins) {
    weights += bin.weight;
    const std::uint64_t up_to = weights * kAllFrequencies / all;
    frequencies_.push_back(static_cast<std::uint16_t>(up_to - before));
    before = up_to;
  }
}

void SiteModel::set_bin_bits() {
  bin_bits_.reserve(tree_.bins.size());
  const CountBits& count_bits = CountBits::get();
  for (std::size_t i = 0; i < tree_.bins.size(); ++i) {
    bin_bits_.push_back(kFrequencyBits - count_bits.log(frequencies_[i]) + tree_.bins[i].width);
  }
}

// Vose's alias method. The buckets of small bins are filled up with slots of large ones; a bin's
// own slots come first in its numbering, then those in other buckets in the order of these.
void SiteModel::complete() {
  const std::size_t bins = tree_.bins.size();
  std::uint32_t bucket_bits = 0;
  while ((std::size_t{1} << bucket_bits) < bins) ++bucket_bits;
  shift_ = kFrequencyBits - bucket_bits;
  const std::size_t count = std::size_t{1} << bucket_bits;
  const std::uint32_t size = kAllFrequencies >> bucket_bits;
  // In one room: models are many and small.
  std::vector<std::uint32_t> room(5 * count, 0);
  std::uint32_t* const left = room.data();
  std::uint32_t* const own = left + count;
  std::uint32_t* const other = own + count;
  std::uint32_t* const small = other + count;  // stacks
  std::uint32_t* const large = small + count;
  std::size_t small_size = 0;
  std::size_t large_size = 0;
  std::copy(frequencies_.begin(), frequencies_.end(), left);
  std::fill(own, own + count, size);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (left[i] < size) {
      small[small_size++] = i;
    } else {
      large[large_size++] = i;
    }
  }
  while (small_size > 0 && large_size > 0) {
    const std::uint32_t filled = small[--small_size];
    const std::uint32_t giver = large[large_size - 1];
    own[filled] = left[filled];
    other[filled] = giver;
    left[giver] -= size - left[filled];
    if (left[giver] < size) {
      --large_size;
      small[small_size++] = giver;
    }
  }
  // `number`: that of slot 0 in the bin, were it one of its slots.
  const auto choice = [&](std::size_t bin, std::int64_t number) {
    BinChoice made;
    if (bin >= bins) return made;
    const Bin& its = tree_.bins[bin];
    std::uint64_t low = its.low;
    unsigned width = its.width;
    if (width > kOffsetBits || low >> BinChoice::kLowBits != 0) {
      low = large_bins_.size();
      width = BinChoice::kLarge;
      large_bins_.push_back({its.low, its.width});
    }
    made.low_and_width = static_cast<std::uint32_t>(low << BinChoice::kWidthBits) | width;
    made.frequency = frequencies_[bin];
    made.shift = static_cast<std::int16_t>(number);
    return made;
  };
  limits_.resize(count);
  choices_.resize(2 * count);
  std::uint32_t* const used = left;  // what was left has been given
  std::copy(own, own + count, used);
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int64_t>(i * size);
    limits_[i] = static_cast<std::uint16_t>(first + own[i]);
    choices_[2 * i + 1] = choice(i, -first);
    if (own[i] == size) continue;
    const std::uint32_t giver = other[i];
    choices_[2 * i] = choice(giver, std::int64_t{used[giver]} - own[i] - first);
    used[giver] += size - own[i];
  }
}

}  // namespace tit
}  // namespace tisim
