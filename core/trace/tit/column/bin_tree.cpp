#include "trace/tit/column/bin_tree.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "trace/tit/column/count_bits.hpp"

namespace tisim {
namespace tit {

namespace {

// What a node and a bin of its own take in the file, coded adaptively.
constexpr double kNodeBits = 1.0;
constexpr unsigned kBinBits = 6;

unsigned bits_of(std::uint64_t value) {
  return value == 0 ? 0 : 64U - static_cast<unsigned>(__builtin_clzll(value));
}

// Takes what is too much from the largest weights, which notice it least.
void lower(std::vector<std::uint16_t>& weights, std::uint64_t excess) {
  using Entry = std::pair<std::uint16_t, std::size_t>;
  // The largest first, of equal ones that with the lowest number.
  const auto comes_later = [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::vector<Entry> heap;
  heap.reserve(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) heap.emplace_back(weights[i], i);
  std::make_heap(heap.begin(), heap.end(), comes_later);
  while (excess > 0) {
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    Entry& largest = heap.back();
    const auto taken = std::min<std::uint64_t>(excess, 1U + largest.first / 64U);
    largest.first = static_cast<std::uint16_t>(largest.first - taken);
    weights[largest.second] = largest.first;
    excess -= taken;
    std::push_heap(heap.begin(), heap.end(), comes_later);
  }
}

// The weights of bins with these counts that add up to about `total`; none is 0.
std::vector<std::uint16_t> scaled(const std::vector<std::uint64_t>& counts, std::uint64_t all,
                                  std::uint64_t total) {
  std::vector<std::uint16_t> weights;
  weights.reserve(counts.size());
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) {
    const auto share = static_cast<double>(count) * static_cast<double>(total);
    const auto rounded = static_cast<std::uint64_t>(share / static_cast<double>(all) + 0.5);
    weights.push_back(static_cast<std::uint16_t>(std::max<std::uint64_t>(1, rounded)));
    sum += weights.back();
  }
  if (sum > kAllFrequencies) lower(weights, sum - kAllFrequencies);
  return weights;
}

// What the weights take, and values with these counts by them.
double bits_with(const std::vector<std::uint16_t>& weights,
                 const std::vector<std::uint64_t>& counts) {
  const CountBits& of = CountBits::get();
  std::uint64_t sum = 0;
  for (const std::uint16_t weight : weights) sum += weight;
  const double all = of.log(sum);
  double bits = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    bits += of.weight(weights[i]) + static_cast<double>(counts[i]) * (all - of.log(weights[i]));
  }
  return bits;
}

// Grows the best tree for some values, from single values up. Two neighbours among the values part
// where their highest different bit is; so the places between neighbours are a binary tree, each
// higher than those below it. A place, with all values that part there or below, has a range of
// 2^width numbers, and is cut into halves or not.
class Grower {
 public:
  Grower(const Histogram& values, unsigned bin_bits)
      : values_(&values.counts()), bin_bits_(bin_bits), places_(values_->size()) {
    least_width_[0] = least_width_[1] = kNeverCut;
    for (unsigned count = 2; count < kFewValues; ++count) least_width_[count] = bin_bits / count;
    tree.bits = bits_of(values_->back().value);
    put(weigh().span, 0, tree.bits);
  }

  BinTree tree;
  std::vector<std::uint64_t> bin_counts;

 private:
  // Neighbours from `first` on, below the place `top`; a single value, which has none, if it is 0.
  struct Span {
    std::uint32_t first;
    std::uint32_t top;
    std::uint64_t count;  // of their values
  };
  // The same with what it takes in the range of its place; nothing for a single value.
  struct WeighedSpan {
    Span span;
    unsigned width;  // of its place
    double bits;
    double count_bits;  // n log2(n)
  };
  // Before each value but the first one.
  struct Place {
    Span low, high;
    unsigned width;
    bool is_cut;
  };
  static constexpr unsigned kNeverCut = 64;
  static constexpr unsigned kFewValues = 64;

  WeighedSpan single(std::size_t at) const {
    const std::uint64_t count = (*values_)[at].count;
    return {{static_cast<std::uint32_t>(at), 0, count}, 0, 0, count_bits_->times_log(count)};
  }
  WeighedSpan weigh();
  void join(WeighedSpan& low, std::size_t place, const WeighedSpan& high);
  double bits_in(const WeighedSpan& of, unsigned width) const;
  // A range of this width or below is not cut: a bit less for each value is not worth a bin. A
  // value that occurs once is not looked for.
  unsigned least_width(std::uint64_t count) const {
    return count < kFewValues ? least_width_[count] : static_cast<unsigned>(bin_bits_ / count);
  }
  // What is left of a range when its halves without values have been taken off, as long as that
  // may pay. `own`: the range cannot become smaller.
  unsigned shrunk(unsigned width, unsigned own, std::uint64_t count) const {
    return std::min(width, std::max(own, least_width(count)));
  }
  void put(const Span& span, std::uint64_t low, unsigned width);

  const std::vector<ValueCount>* values_;
  unsigned bin_bits_;  // what a bin of its own takes
  std::vector<Place> places_;
  unsigned least_width_[kFewValues];
  const CountBits* count_bits_ = &CountBits::get();
};

// Decides about all places; returns the span of all values.
Grower::WeighedSpan Grower::weigh() {
  struct Open {
    WeighedSpan low;
    std::size_t place;
    unsigned width;
  };
  // Spans whose neighbours to the right are not all known, the widest first.
  std::vector<Open> open;
  open.reserve(tree.bits + std::size_t{1});
  WeighedSpan last = single(0);
  for (std::size_t at = 1; at < values_->size(); ++at) {
    const unsigned width = bits_of((*values_)[at - 1].value ^ (*values_)[at].value);
    while (!open.empty() && open.back().width < width) {
      join(open.back().low, open.back().place, last);
      last = open.back().low;
      open.pop_back();
    }
    places_[at].width = width;
    open.push_back({last, at, width});
    last = single(at);
  }
  for (; !open.empty(); open.pop_back()) {
    join(open.back().low, open.back().place, last);
    last = open.back().low;
  }
  return last;
}

// What a span takes in a range that is as wide as that of its place, or wider.
[[gnu::always_inline]] inline double Grower::bits_in(const WeighedSpan& of, unsigned width) const {
  const unsigned left = shrunk(width, of.width, of.span.count);
  const double nodes = kNodeBits * (width - left);
  const bool is_place = left == of.width && of.span.top != 0;
  return nodes + (is_place ? of.bits : static_cast<double>(of.span.count) * left + bin_bits_);
}

// The lower one of two spans that part at a place becomes both.
void Grower::join(WeighedSpan& low, std::size_t at, const WeighedSpan& high) {
  Place& place = places_[at];
  place.low = low.span;
  place.high = high.span;
  const unsigned width = place.width;
  const std::uint64_t count = low.span.count + high.span.count;
  const double count_bits = count_bits_->times_log(count);
  const double as_bin = static_cast<double>(count) * width + bin_bits_;
  // Naming the half for all values takes the entropy of the counts.
  double bits = kNodeBits;
  bits += count_bits - low.count_bits - high.count_bits;
  bits += bits_in(low, width - 1);
  bits += bits_in(high, width - 1);
  place.is_cut = width > least_width(count) && bits < as_bin;
  low = {{low.span.first, static_cast<std::uint32_t>(at), count},
         width,
         place.is_cut ? bits : as_bin,
         count_bits};
}

// Adds the nodes and bins of a span in the range [low, low + 2^width).
void Grower::put(const Span& span, std::uint64_t low, unsigned width) {
  const unsigned own = span.top == 0 ? 0 : places_[span.top].width;
  for (const unsigned left = shrunk(width, own, span.count); width > left;) {
    const std::uint64_t half = low + (std::uint64_t{1} << --width);
    const bool is_high = (*values_)[span.first].value >= half;
    tree.nodes.push_back(is_high ? BinTree::kHighHalf : BinTree::kLowHalf);
    if (is_high) low = half;
  }
  if (width == own && span.top != 0 && places_[span.top].is_cut) {
    const Place& place = places_[span.top];
    tree.nodes.push_back(BinTree::kBothHalves);
    put(place.low, low, width - 1);
    put(place.high, low + (std::uint64_t{1} << (width - 1)), width - 1);
    return;
  }
  tree.nodes.push_back(BinTree::kBin);
  Bin bin;
  bin.low = low;
  bin.width = static_cast<std::uint8_t>(width);
  tree.bins.push_back(bin);
  bin_counts.push_back(span.count);
}

}  // namespace

BinTree BinTree::choose(const Histogram& values) {
  constexpr std::size_t kMostBins = kAllFrequencies / 2;
  unsigned bin_bits = kBinBits;
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
  // Those that are still to come: at most one beside each level of the tree.
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
    if (range.width == 0 || node > kHighHalf) throw FormatError("the bins of a model are no tree");
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
  double bits_in_all = 8 + kNodeBits * static_cast<double>(nodes.size());
  for (const Bin& bin : bins) bits_in_all += CountBits::get().weight(bin.weight);
  return bits_in_all;
}

}  // namespace tit
}  // namespace tisim
