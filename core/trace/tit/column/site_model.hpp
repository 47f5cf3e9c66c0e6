// Models of the values at a site: their frequencies, in bins that form a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

struct ValueCount {
  std::uint64_t value = 0;
  std::uint64_t count = 0;
};

// Distinct values in ascending order.
class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(std::vector<std::uint64_t> values);
  // Sum of two histograms.
  static Histogram sum(const Histogram& a, const Histogram& b);

  bool empty() const { return counts_.empty(); }
  std::uint64_t total() const { return total_; }
  const std::vector<ValueCount>& counts() const { return counts_; }

 private:
  std::vector<ValueCount> counts_;
  std::uint64_t total_ = 0;
};

// The tree of bins of a site's model: fitted to values, written and read.

// Frequencies are in 1 / 4,096.
constexpr unsigned kFrequencyBits = 12;
constexpr std::uint32_t kAllFrequencies = std::uint32_t{1} << kFrequencyBits;

// Values [low, low + 2^width).
struct Bin {
  std::uint64_t low = 0;
  std::uint16_t weight = 1;  // at least 1; all weights together at most 4,096
  std::uint8_t width = 0;
};

struct BinTree {
  // A node as it is written: a bin, or the nonempty halves of its range.
  enum Node : std::uint8_t { kBin = 0, kBothHalves = 1, kLowHalf = 2, kHighHalf = 3 };

  unsigned bits = 0;                // values are in [0, 2^bits)
  std::vector<std::uint8_t> nodes;  // in preorder
  std::vector<Bin> bins;            // in ascending order

  // The tree that approximately minimises the bits of the values, of which there must be at least
  // one, and of the tree itself.
  static BinTree choose(const Histogram& values);

  // Throws FormatError for anything that write() does not produce.
  static BinTree read(ByteReader& in);
  void write(Bytes& out) const;
  // Approximate size in a file, in bits.
  double own_bits() const;
};

// The distribution of the values at one site of a trace, with which its column is coded.
//
// Repeatedly halving the range of the values gives a tree (BinTree); its leaves are the bins of the
// distribution: each has a frequency, and the values in a bin are equally likely. A bin may contain
// a single value, so that a few distinct values form a dictionary.

// Number of bits of an offset in a bin that are coded at a time.
constexpr unsigned kOffsetBits = 20;

// A bin as decoders need it, kept small: the tables of all sites compete for the caches.
struct BinChoice {
  // The width of a bin that is in the model's list of large ones, with index `low`.
  static constexpr unsigned kLarge = 63;
  static constexpr unsigned kWidthBits = 6;
  static constexpr unsigned kLowBits = 32 - kWidthBits;

  std::uint32_t low_and_width = 0;  // the width is lowest, so that shifts by it need no masking
  std::uint16_t frequency = 0;
  std::int16_t shift = 0;  // added to a slot, gives the slot's number in the bin

  std::uint32_t low() const { return low_and_width >> kWidthBits; }
  unsigned width() const { return low_and_width & ((1U << kWidthBits) - 1); }
};
static_assert(sizeof(BinChoice) == 8);

// A bin that is wider than kOffsetBits or starts at 2^26 or above.
struct LargeBin {
  std::uint64_t low;
  unsigned width;
};

// Decoding data of a model. The 4,096 slots of a state are divided into equal buckets, at least one
// per bin; a bucket contains slots of at most two bins (the alias method), so that a value is found
// with one lookup.
struct DecodingTable {
  const std::uint16_t* limits = nullptr;  // by bucket: slots below belong to its own bin
  const BinChoice* choices = nullptr;     // by bucket: the other bin, then its own
  const LargeBin* large_bins = nullptr;   // nullptr: no large bins
  std::uint32_t shift = 0;                // number of bits of a slot's position in its bucket

  // The bin of a slot. Branch-free: which of the two bins it is cannot be predicted.
  const BinChoice& find(std::uint64_t slot) const { return find(limits, choices, shift, slot); }

  static const BinChoice& find(const std::uint16_t* limits, const BinChoice* choices,
                               std::uint32_t shift, std::uint64_t slot) {
    const std::uint64_t bucket = slot >> shift;
    const std::uint64_t is_own = slot < limits[bucket] ? 1 : 0;
    return choices[2 * bucket + is_own];
  }
};

class SiteModel {
 public:
  // Model of the single value 0.
  SiteModel();

  // The model that approximately minimises the bits of these values, at least one, and of itself.
  static SiteModel fit(std::vector<std::uint64_t> values);
  static SiteModel fit(const Histogram& values);
  // The same without the coding tables: for comparison; call complete() if it is chosen.
  static SiteModel draft(const Histogram& values);
  void complete();

  void write(Bytes& out) const { tree_.write(out); }
  // Throws FormatError for anything that write() does not produce.
  static SiteModel read(ByteReader& in);

  // The largest value that a decoder can obtain from it, for any input.
  std::uint64_t largest() const;
  // Approximate bits of the model itself, and of the values coded with it: a value without a bin
  // costs 24 once, for the addition to the model, plus one per occurrence. Not for models that were
  // read.
  double own_bits() const { return tree_.own_bits(); }
  double coded_bits(const Histogram& values) const;

  // The bins in ascending order, and the frequency of each.
  const std::vector<Bin>& bins() const { return tree_.bins; }
  std::uint16_t frequency(std::size_t bin) const { return frequencies_[bin]; }
  // The bin that contains a value, or some other one if none does.
  std::size_t bin_of(std::uint64_t value) const;

  DecodingTable table() const {
    return {limits_.data(), choices_.data(), large_bins_.empty() ? nullptr : large_bins_.data(),
            shift_};
  }

 private:
  explicit SiteModel(BinTree tree);

  void set_frequencies();
  void set_bin_bits();

  BinTree tree_;
  std::vector<std::uint16_t> frequencies_;
  std::vector<double> bin_bits_;  // bits of a value in each bin; empty if the model was read
  std::vector<std::uint16_t> limits_;
  std::vector<BinChoice> choices_;
  std::vector<LargeBin> large_bins_;
  std::uint32_t shift_ = kFrequencyBits;
};

// The models of all sites of a trace: similar or rare sites share one.

struct ModelSet {
  std::vector<SiteModel> models;
  std::vector<std::uint32_t> model_of;  // by site; models are numbered by first use

  // Models that approximately minimise the bits of the values of all sites and of the models. Each
  // site must have a value.
  static ModelSet fit(const std::vector<Histogram>& sites);

  void write(Bytes& out) const;
  // Throws FormatError for anything that write() does not produce for this many sites.
  static ModelSet read(ByteReader& in, std::size_t sites);
};

}  // namespace tisim::tit
