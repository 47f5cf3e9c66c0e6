#include "tit/column/bin_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tisim {
namespace tit {

namespace {

// What a node and a bin of its own take in the file, coded adaptively.
constexpr double kNodeBits = 1.0;
constexpr double kBinBits = 6;
// What a weight takes there, by its size.
double weight_bits(std::uint64_t weight) {
  return 1.5 + 1.1 * std::log2(static_cast<double>(weight));
}

unsigned bits_of(std::uint64_t value) {
  unsigned bits = 0;
  for (; value > 0; value >>= 1) ++bits;
  return bits;
}

// The weights of bins with these counts that add up to about `total`; none is 0.
std::vector<std::uint16_t> scaled(const std::vector<std::uint64_t>& counts, std::uint64_t all,
                                  std::uint64_t total) {
  std::vector<std::uint16_t> weights;
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) {
    const auto share = static_cast<double>(count) * static_cast<double>(total);
    const double rounded = std::floor(share / static_cast<double>(all) + 0.5);
    weights.push_back(static_cast<std::uint16_t>(std::max(1.0, rounded)));
    sum += weights.back();
  }
  // What is too much is taken from the largest, which notice it least.
  while (sum > kAllFrequencies) {
    const auto largest = std::max_element(weights.begin(), weights.end());
    const auto excess = static_cast<std::uint16_t>(
        std::min<std::uint64_t>(sum - kAllFrequencies, 1 + *largest / 64));
    *largest = static_cast<std::uint16_t>(*largest - excess);
    sum -= excess;
  }
  return weights;
}

// What the weights take, and values with these counts by them.
double bits_with(const std::vector<std::uint16_t>& weights,
                 const std::vector<std::uint64_t>& counts) {
  double sum = 0;
  for (const std::uint16_t weight : weights) sum += weight;
  double bits = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    bits += weight_bits(weights[i]);
    bits += static_cast<double>(counts[i]) * std::log2(sum / weights[i]);
  }
  return bits;
}

// n log2(n), for small n from a table.
class CountBits {
 public:
  static const CountBits& get() {
    static const CountBits kTable;
    return kTable;
  }
  double of(std::uint64_t count) const { return count < kSmall ? bits_[count] : bits(count); }

 private:
  static constexpr std::size_t kSmall = 1024;

  CountBits() {
    for (std::size_t count = 1; count < kSmall; ++count) bits_[count] = bits(count);
  }
  static double bits(std::uint64_t count) {
    const auto number = static_cast<double>(count);
    return number * std::log2(number);
  }

  double bits_[kSmall] = {};
};

// Grows the best tree for some values.
class Grower {
 public:
  Grower(const Histogram& values, double bin_bits)
      : values_(&values.counts()), bin_bits_(bin_bits) {
    counts_before_.reserve(values_->size() + 1);
    counts_before_.push_back(0);
    for (const ValueCount& value : *values_) {
      counts_before_.push_back(counts_before_.back() + value.count);
    }
    tree.bits = bits_of(values_->back().value);
    grow(0, values_->size(), 0, tree.bits);
  }

  BinTree tree;
  std::vector<std::uint64_t> bin_counts;

 private:
  double grow(std::size_t first, std::size_t last, std::uint64_t low, unsigned width);
  double grow_one(std::size_t at, std::uint64_t low, unsigned width);
  void add_bin(std::uint64_t low, unsigned width, std::uint64_t values);
  std::size_t middle_of(std::size_t first, std::size_t last, std::uint64_t value) const;
  std::uint64_t count(std::size_t first, std::size_t last) const {
    return counts_before_[last] - counts_before_[first];
  }

  const std::vector<ValueCount>* values_;
  std::vector<std::uint64_t> counts_before_;  // of the values before each
  double bin_bits_;                           // what a bin of its own takes
  const CountBits* count_bits_ = &CountBits::get();
};

std::size_t Grower::middle_of(std::size_t first, std::size_t last, std::uint64_t value) const {
  const auto begin = values_->begin();
  const auto found = std::lower_bound(
      begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last), value,
      [](const ValueCount& entry, std::uint64_t bound) { return entry.value < bound; });
  return static_cast<std::size_t>(found - begin);
}

// Adds the best tree for the values [first, last), all within [low, low + 2^width); returns its
// bits.
double Grower::grow(std::size_t first, std::size_t last, std::uint64_t low, unsigned width) {
  if (last - first == 1) return grow_one(first, low, width);
  const auto all = static_cast<double>(count(first, last));
  const double as_bin = all * width + bin_bits_;
  const std::size_t node = tree.nodes.size();
  const std::size_t bins = tree.bins.size();
  if (width > 0 && all * width > bin_bits_) {
    const std::uint64_t half = low + (std::uint64_t{1} << (width - 1));
    const std::size_t middle = middle_of(first, last, half);
    double bits = kNodeBits;
    if (middle == last) {
      tree.nodes.push_back(BinTree::kLowHalf);
      bits += grow(first, last, low, width - 1);
    } else if (middle == first) {
      tree.nodes.push_back(BinTree::kHighHalf);
      bits += grow(first, last, half, width - 1);
    } else {
      tree.nodes.push_back(BinTree::kBothHalves);
      // Naming the half for all values takes the entropy of the counts.
      bits += count_bits_->of(count(first, last)) - count_bits_->of(count(first, middle)) -
              count_bits_->of(count(middle, last));
      bits += grow(first, middle, low, width - 1);
      bits += grow(middle, last, half, width - 1);
    }
    if (bits < as_bin) return bits;
    tree.nodes.resize(node);
    tree.bins.resize(bins);
    bin_counts.resize(bins);
  }
  add_bin(low, width, count(first, last));
  return as_bin;
}

// The same for one value, without a search: each half that is taken off saves a bit each time that
// the value occurs, and costs a node.
double Grower::grow_one(std::size_t at, std::uint64_t low, unsigned width) {
  const std::uint64_t value = (*values_)[at].value;
  const std::uint64_t times = (*values_)[at].count;
  const auto all = static_cast<double>(times);
  double bits = 0;
  if (times > 1) {
    while (width > 0 && all * width > bin_bits_) {
      const std::uint64_t half = low + (std::uint64_t{1} << --width);
      const bool is_high = value >= half;
      tree.nodes.push_back(is_high ? BinTree::kHighHalf : BinTree::kLowHalf);
      if (is_high) low = half;
      bits += kNodeBits;
    }
  }
  add_bin(low, width, times);
  return bits + all * width + bin_bits_;
}

void Grower::add_bin(std::uint64_t low, unsigned width, std::uint64_t values) {
  tree.nodes.push_back(BinTree::kBin);
  Bin bin;
  bin.low = low;
  bin.width = static_cast<std::uint8_t>(width);
  tree.bins.push_back(bin);
  bin_counts.push_back(values);
}

}  // namespace

BinTree BinTree::choose(const Histogram& values) {
  constexpr std::size_t kMostBins = kAllFrequencies / 2;
  double bin_bits = kBinBits;
  Grower grown(values, bin_bits);
  while (grown.tree.bins.size() > kMostBins) grown = Grower(values, bin_bits *= 2);
  BinTree tree = std::move(grown.tree);
  std::vector<std::uint16_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint64_t total = kAllFrequencies; total >= tree.bins.size(); total /= 4) {
    const std::uint64_t scale = std::min(total, values.total());
    std::vector<std::uint16_t> weights = scaled(grown.bin_counts, values.total(), scale);
    const double needed = bits_with(weights, grown.bin_counts);
    if (needed < least) {
      least = needed;
      best = std::move(weights);
    }
  }
  for (std::size_t i = 0; i < best.size(); ++i) tree.bins[i].weight = best[i];
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
  std::vector<Range> open{{0, tree.bits}};
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    const std::uint8_t node = in.byte();
    tree.nodes.push_back(node);
    if (node == kBin) {
      Bin bin;
      bin.low = range.low;
      bin.width = static_cast<std::uint8_t>(range.width);
      tree.bins.push_back(bin);
      if (tree.bins.size() > kAllFrequencies) throw FormatError("a model has too many bins");
      continue;
    }
    if (range.width == 0 || node > kHighHalf) throw FormatError("the bins of a model are no tree");
    const unsigned width = range.width - 1;
    if (node != kLowHalf) open.push_back({range.low + (std::uint64_t{1} << width), width});
    if (node != kHighHalf) open.push_back({range.low, width});
  }
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
  double bits_in_all = 8 + kNodeBits * static_cast<double>(nodes.size());
  for (const Bin& bin : bins) bits_in_all += weight_bits(bin.weight);
  return bits_in_all;
}

}  // namespace tit
}  // namespace tisim
