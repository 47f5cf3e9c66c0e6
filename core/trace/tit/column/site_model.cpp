#include "trace/tit/column/site_model.hpp"

#include <algorithm>
#include <array>
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
  // Numbers that lie close together are counted in a table, which is faster than to sort them.
  if (is_dense(span, values.size())) {
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

Histogram::Histogram(std::uint64_t low, const std::uint32_t* counts, std::size_t size) {
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < size; ++i) distinct += counts[i] > 0 ? 1 : 0;
  counts_.reserve(distinct);
  for (std::size_t i = 0; i < size; ++i) {
    if (counts[i] == 0) continue;
    counts_.push_back({low + i, counts[i]});
    total_ += counts[i];
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

namespace {

// Sites that share a model.
struct Cluster {
  Histogram values;
  SiteModel model;  // a draft
  double bits = 0;  // of the model and the values
};

double bits_of(const SiteModel& model, const Histogram& values) {
  return model.own_bits() + model.coded_bits(values);
}

// About how many bits the values take with a model that was made for others.
double misfit(const SiteModel& model, const Histogram& values, double most) {
  constexpr double kUnknown = 24;  // for a value that the model would have to learn
  return model.coded_bits(values, kUnknown, most);
}

// Finds a cluster for each site.
class Clustering {
 public:
  explicit Clustering(const std::vector<Histogram>& sites)
      : sites_(sites), cluster_of(sites.size(), 0) {
    // Large ones first: they get a model of their own, and small ones may join them.
    std::vector<std::size_t> order(sites.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sites[a].total() > sites[b].total();
    });
    for (const std::size_t site : order) place(site);
  }

 private:
  // What naming a shared model takes.
  static constexpr double kNameBits = 5;
  // A site tries at most so many clusters, and joins them for a trial at most so often.
  static constexpr std::size_t kMostCandidates = 48;
  static constexpr std::size_t kMostTrials = 3;
  // A trial that cannot gain is left out where that is sure by so many bits: what it can gain is
  // estimated from ranges of values.
  static constexpr double kSureBits = 128;
  // A model is a small part of what more values than these take.
  static constexpr std::uint64_t kLarge = 20'000;
  static constexpr std::size_t kLargeHistogram = 4096;

  void place(std::size_t site) {
    const Histogram& values = sites_[site];
    Cluster own;
    own.values = values;
    own.model = SiteModel::draft(values);
    own.bits = bits_of(own.model, values);
    Cluster joined;
    const std::size_t best = values.total() < kLarge ? join(own, joined) : clusters.size();
    cluster_of[site] = static_cast<std::uint32_t>(best);
    if (best == clusters.size()) {
      clusters.push_back(std::move(own));
    } else {
      clusters[best] = std::move(joined);
    }
  }

  // The cluster that takes the fewest bits more when the site joins it, if these are fewer than its
  // own; `joined` is the cluster with it.
  std::size_t join(const Cluster& own, Cluster& joined) const {
    struct Candidate {
      double bits;
      std::size_t cluster;
    };
    std::vector<Candidate> candidates;  // that take the fewest bits, ascending
    const std::size_t first =
        clusters.size() > kMostCandidates ? clusters.size() - kMostCandidates : 0;
    for (std::size_t i = first; i < clusters.size(); ++i) {
      if (clusters[i].values.counts().size() > kLargeHistogram) continue;
      const double most = candidates.size() == kMostTrials
                              ? candidates.back().bits
                              : std::numeric_limits<double>::infinity();
      const double bits = misfit(clusters[i].model, own.values, most);
      if (bits >= most) continue;
      if (candidates.size() == kMostTrials) candidates.pop_back();
      const auto behind = std::upper_bound(
          candidates.begin(), candidates.end(), bits,
          [](double bound, const Candidate& candidate) { return bound < candidate.bits; });
      candidates.insert(behind, {bits, i});
    }
    const double coded_bits = own.bits - own.model.own_bits();
    double least = own.bits - kNameBits;
    std::size_t best = clusters.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Cluster& cluster = clusters[candidates[i].cluster];
      const double sharing = cluster.model.sharing_bits(cluster.values.total(), own.values);
      if (coded_bits + sharing >= least + kSureBits) continue;
      Cluster trial;
      trial.values = Histogram::sum(cluster.values, own.values);
      trial.model = SiteModel::draft(trial.values);
      trial.bits = bits_of(trial.model, trial.values);
      if (trial.bits - cluster.bits >= least) continue;
      least = trial.bits - cluster.bits;
      best = candidates[i].cluster;
      joined = std::move(trial);
    }
    return best;
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

// The sites, each with 0 for the next new model or 1 plus the number of its model; then the models.
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
