#include "trace/tit/column/site_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace tisim::tit {

Histogram::Histogram(std::vector<std::uint64_t> values) : total_(values.size()) {
  if (values.empty()) return;
  const auto range = std::minmax_element(values.begin(), values.end());
  const std::uint64_t low = *range.first;
  const std::uint64_t span = *range.second - low;
  // Close values are counted in a table, which is faster than sorting.
  constexpr std::uint64_t kDense = 4;
  if (span / kDense < values.size()) {
    std::vector<std::uint64_t> table(static_cast<std::size_t>(span) + 1, 0);
    for (const std::uint64_t value : values) ++table[static_cast<std::size_t>(value - low)];
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i] > 0) counts_.push_back({low + i, table[i]});
    }
    return;
  }
  std::sort(values.begin(), values.end());
  for (const std::uint64_t value : values) {
    if (counts_.empty() || counts_.back().value != value) counts_.push_back({value, 0});
    ++counts_.back().count;
  }
}

Histogram Histogram::sum(const Histogram& a, const Histogram& b) {
  Histogram both;
  both.counts_.reserve(a.counts_.size() + b.counts_.size());
  auto its = a.counts_.begin();
  for (const ValueCount& other : b.counts_) {
    for (; its != a.counts_.end() && its->value < other.value; ++its) both.counts_.push_back(*its);
    both.counts_.push_back(other);
    if (its != a.counts_.end() && its->value == other.value) {
      both.counts_.back().count += (its++)->count;
    }
  }
  both.counts_.insert(both.counts_.end(), its, a.counts_.end());
  both.total_ = a.total_ + b.total_;
  return both;
}

namespace {

// Cost in the file, coded adaptively, of a node and of a bin of its own.
constexpr double kNodeBits = 1.0;
constexpr unsigned kBinBits = 6;

unsigned bits_of(std::uint64_t value) {
  return value == 0 ? 0 : 64U - static_cast<unsigned>(__builtin_clzll(value));
}

// n log2(n)
double times_log(std::uint64_t count) {
  const auto number = static_cast<double>(count);
  return count < 2 ? 0 : number * std::log2(number);
}

// Cost of the weight of a bin in the file.
double weight_bits(std::uint16_t weight) { return 1.5 + 1.1 * std::log2(weight); }

// Weights proportional to these counts that add up to 4,096, or to all; none is 0.
std::vector<std::uint16_t> scaled(const std::vector<std::uint64_t>& counts, std::uint64_t all) {
  const auto total = static_cast<double>(std::min<std::uint64_t>(kAllFrequencies, all));
  std::vector<std::uint16_t> weights;
  weights.reserve(counts.size());
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) {
    const double share = static_cast<double>(count) * total / static_cast<double>(all);
    weights.push_back(static_cast<std::uint16_t>(std::max(1.0, share + 0.5)));
    sum += weights.back();
  }
  // The largest weights are affected least by a reduction.
  while (sum > kAllFrequencies) {
    std::uint16_t& largest = *std::max_element(weights.begin(), weights.end());
    const auto taken = std::min<std::uint64_t>(sum - kAllFrequencies, 1U + largest / 64U);
    largest = static_cast<std::uint16_t>(largest - taken);
    sum -= taken;
  }
  return weights;
}

// Grows the best tree for some values: each range is a bin, or is halved if that takes fewer bits.
class Grower {
 public:
  Grower(const Histogram& values, unsigned bin_bits)
      : values_(&values.counts()), bin_bits_(bin_bits) {
    before_.reserve(values_->size() + 1);
    before_.push_back(0);
    for (const ValueCount& value : *values_) before_.push_back(before_.back() + value.count);
    tree.bits = bits_of(values_->back().value);
    grow(0, values_->size(), 0, tree.bits);
  }

  BinTree tree;
  std::vector<std::uint64_t> bin_counts;

 private:
  // Adds the nodes and bins of the values from `first` to `last`, exclusive, which are in [low, low
  // + 2^width); returns their cost in bits.
  double grow(std::size_t first, std::size_t last, std::uint64_t low, unsigned width) {
    const std::uint64_t count = before_[last] - before_[first];
    const double as_bin = static_cast<double>(count) * width + bin_bits_;
    const std::size_t nodes = tree.nodes.size();
    const std::size_t bins = tree.bins.size();
    double bits = as_bin;
    // Otherwise the savings cannot pay for another bin; a value that occurs once is not separated.
    if (count > 1 && count * width > bin_bits_) {
      const std::uint64_t half = low + (std::uint64_t{1} << --width);
      const auto middle = static_cast<std::size_t>(
          std::partition_point(values_->begin() + static_cast<std::ptrdiff_t>(first),
                               values_->begin() + static_cast<std::ptrdiff_t>(last),
                               [half](const ValueCount& value) { return value.value < half; }) -
          values_->begin());
      const bool has_low = middle > first;
      const bool has_high = middle < last;
      tree.nodes.push_back(!has_high  ? BinTree::kLowHalf
                           : !has_low ? BinTree::kHighHalf
                                      : BinTree::kBothHalves);
      // Identifying the half of each value takes the entropy of the counts.
      bits = kNodeBits + times_log(count) - times_log(before_[middle] - before_[first]) -
             times_log(before_[last] - before_[middle]);
      if (has_low) bits += grow(first, middle, low, width);
      if (has_high) bits += grow(middle, last, half, width);
      ++width;
    }
    if (bits < as_bin) return bits;
    tree.nodes.resize(nodes);
    tree.bins.resize(bins);
    bin_counts.resize(bins);
    tree.nodes.push_back(BinTree::kBin);
    Bin bin;
    bin.low = low;
    bin.width = static_cast<std::uint8_t>(width);
    tree.bins.push_back(bin);
    bin_counts.push_back(count);
    return as_bin;
  }

  const std::vector<ValueCount>* values_;
  unsigned bin_bits_;                  // cost of a bin of its own
  std::vector<std::uint64_t> before_;  // counts before each value
};

}  // namespace

BinTree BinTree::choose(const Histogram& values) {
  constexpr std::size_t kMaxBins = kAllFrequencies / 2;
  unsigned bin_bits = kBinBits;
  Grower grown(values, bin_bits);
  while (grown.tree.bins.size() > kMaxBins) grown = Grower(values, bin_bits *= 2);
  BinTree tree = std::move(grown.tree);
  const std::vector<std::uint16_t> weights = scaled(grown.bin_counts, values.total());
  for (std::size_t i = 0; i < weights.size(); ++i) tree.bins[i].weight = weights[i];
  return tree;
}

void BinTree::write(Bytes& out) const {
  out.varint(bits);
  for (const std::uint8_t node : nodes) out.byte(node);
  if (bins.size() == 1) return;
  for (const Bin& bin : bins) out.varint(bin.weight - 1U);
}

BinTree BinTree::read(ByteReader& in) {
  struct Range {
    std::uint64_t low;
    unsigned width;
  };
  BinTree tree;
  tree.bits = static_cast<unsigned>(in.at_most(64, "the number of bits of a value"));
  // Ranges still to be read: at most one per level of the tree.
  std::array<Range, 66> open;
  open[0] = {0, tree.bits};
  const char* const begin = in.position();
  for (std::size_t left = 1; left > 0;) {
    const Range range = open[--left];
    const std::uint8_t node = in.byte();
    if (node == kBin) {
      Bin bin;
      bin.low = range.low;
      bin.width = static_cast<std::uint8_t>(range.width);
      tree.bins.push_back(bin);
      if (tree.bins.size() > kAllFrequencies) throw FormatError("a model has too many bins");
      continue;
    }
    if (range.width == 0 || node > kHighHalf)
      throw FormatError("the bins of a model are not a tree");
    const unsigned width = range.width - 1;
    if (node != kLowHalf) open[left++] = {range.low + (std::uint64_t{1} << width), width};
    if (node != kHighHalf) open[left++] = {range.low, width};
  }
  tree.nodes.assign(begin, in.position());
  if (tree.bins.size() == 1) return tree;
  std::uint64_t sum = 0;
  for (Bin& bin : tree.bins) {
    const std::uint64_t weight = 1 + in.at_most(kAllFrequencies - 1, "the weight of a bin");
    bin.weight = static_cast<std::uint16_t>(weight);
    sum += weight;
  }
  if (sum > kAllFrequencies) throw FormatError("the weights of a model are too large");
  return tree;
}

double BinTree::own_bits() const {
  double sum = 8 + kNodeBits * static_cast<double>(nodes.size());
  for (const Bin& bin : bins) sum += weight_bits(bin.weight);
  return sum;
}

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

double SiteModel::coded_bits(const Histogram& values) const {
  constexpr double kUnknown = 24;
  double bits = 0;
  std::size_t place = 0;
  for (const ValueCount& value : values.counts()) {
    while (place + 1 < tree_.bins.size() && tree_.bins[place + 1].low <= value.value) ++place;
    const auto times = static_cast<double>(value.count);
    bits += holds(tree_.bins[place], value.value) ? bin_bits_[place] * times : kUnknown + times;
  }
  return bits;
}

// The weights as shares of 4,096, rounded so that their sum is exact.
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
  for (std::size_t i = 0; i < tree_.bins.size(); ++i) {
    bin_bits_.push_back(kFrequencyBits - std::log2(frequencies_[i]) + tree_.bins[i].width);
  }
}

// Vose's alias method. The buckets of small bins are filled with slots of large ones; a bin's own
// slots come first in its numbering, followed by those in other buckets, in ascending order.
void SiteModel::complete() {
  const std::size_t bins = tree_.bins.size();
  std::uint32_t bucket_bits = 0;
  while ((std::size_t{1} << bucket_bits) < bins) ++bucket_bits;
  shift_ = kFrequencyBits - bucket_bits;
  const std::size_t count = std::size_t{1} << bucket_bits;
  const std::uint32_t size = kAllFrequencies >> bucket_bits;
  // In one allocation: models are many and small.
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
  // `number`: the number in the bin that slot 0 would have.
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
  std::uint32_t* const used = left;  // the frequencies have been distributed
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

namespace {

// Sites that share a model.
struct Cluster {
  Histogram values;
  SiteModel model;  // a draft
  double bits = 0;  // cost of the model and the values
};

double bits_of(const SiteModel& model, const Histogram& values) {
  return model.own_bits() + model.coded_bits(values);
}

// Finds a cluster for each site.
class Clustering {
 public:
  explicit Clustering(const std::vector<Histogram>& sites)
      : sites_(sites), cluster_of(sites.size(), 0) {
    // Large ones first: they get their own models, which small ones may share.
    std::vector<std::size_t> order(sites.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto large = sites[a].total(), other = sites[b].total();
      return large != other ? large > other : a < b;
    });
    for (const std::size_t site : order) place(site);
  }

 private:
  // Cost of referring to a shared model.
  static constexpr double kNameBits = 5;
  static constexpr std::size_t kMaxTried = 48;  // clusters
  // Above this many values, the model is a small part of the total size.
  static constexpr std::uint64_t kLarge = 20'000;

  void place(std::size_t site) {
    Cluster own;
    own.values = sites_[site];
    own.model = SiteModel::draft(own.values);
    own.bits = bits_of(own.model, own.values);
    std::size_t nearest = clusters.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = clusters.size() - std::min(clusters.size(), kMaxTried);
         i < clusters.size() && own.values.total() < kLarge; ++i) {
      const double bits = clusters[i].model.coded_bits(own.values);
      if (bits < least) nearest = i;
      least = std::min(bits, least);
    }
    cluster_of[site] = static_cast<std::uint32_t>(nearest);
    if (nearest < clusters.size()) {
      Cluster& other = clusters[nearest];
      Cluster both;
      both.values = Histogram::sum(other.values, own.values);
      both.model = SiteModel::draft(both.values);
      both.bits = bits_of(both.model, both.values);
      if (both.bits + kNameBits < other.bits + own.bits) {
        other = std::move(both);
        return;
      }
    }
    cluster_of[site] = static_cast<std::uint32_t>(clusters.size());
    clusters.push_back(std::move(own));
  }

  const std::vector<Histogram>& sites_;

 public:
  std::vector<Cluster> clusters;
  std::vector<std::uint32_t> cluster_of;  // of each site
};

}  // namespace

ModelSet ModelSet::fit(const std::vector<Histogram>& sites) {
  Clustering clustering(sites);
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(clustering.clusters.size(), kNone);
  ModelSet set;
  for (const std::uint32_t cluster : clustering.cluster_of) {
    if (number[cluster] == kNone) {
      number[cluster] = static_cast<std::uint32_t>(set.models.size());
      set.models.push_back(std::move(clustering.clusters[cluster].model));
      set.models.back().complete();
    }
    set.model_of.push_back(number[cluster]);
  }
  return set;
}

// Writes each site: 0 for the next new model, else 1 plus its model's number; then the models.
void ModelSet::write(Bytes& out) const {
  std::uint32_t next = 0;
  for (const std::uint32_t model : model_of) {
    out.varint(model == next ? 0 : model + 1U);
    if (model == next) ++next;
  }
  for (const SiteModel& model : models) model.write(out);
}

ModelSet ModelSet::read(ByteReader& in, std::size_t sites) {
  if (sites > in.left()) throw FormatError("there are more models of sites than bytes");
  ModelSet set;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < sites; ++i) {
    const auto code = static_cast<std::uint32_t>(in.at_most(count, "the number of a model"));
    set.model_of.push_back(code == 0 ? count++ : code - 1);
  }
  for (std::uint32_t i = 0; i < count; ++i) set.models.push_back(SiteModel::read(in));
  return set;
}

}  // namespace tisim::tit
