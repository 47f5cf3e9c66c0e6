// Models of the values at a site: how often each occurs, in bins that form a tree.
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
  // Histogram of the values of both.
  static Histogram sum(const Histogram& a, const Histogram& b);

  bool empty() const { return counts_.empty(); }
  std::uint64_t total() const { return total_; }
  const std::vector<ValueCount>& counts() const { return counts_; }

 private:
  std::vector<ValueCount> counts_;
  std::uint64_t total_ = 0;
};

// The tree of bins of a site's model: chosen for values, written and read.

// Frequencies are in 1 / 4,096.
constexpr unsigned kFrequencyBits = 12;
constexpr std::uint32_t kAllFrequencies = std::uint32_t{1} << kFrequencyBits;

// Values [low, low + 2^width).
struct Bin {
  std::uint64_t low = 0;
  std::uint16_t weight = 1;  // from 1; all weights are at most 4,096
  std::uint8_t width = 0;
};

struct BinTree {
  // A node, as it is written: a bin, or the halves of its range that hold values.
  enum Node : std::uint8_t { kBin = 0, kBothHalves = 1, kLowHalf = 2, kHighHalf = 3 };

  unsigned bits = 0;                // values are in [0, 2^bits)
  std::vector<std::uint8_t> nodes;  // in preorder
  std::vector<Bin> bins;            // in ascending order

  // The tree with which the values, of which there must be one, and the tree itself take about the
  // fewest bits.
  static BinTree choose(const Histogram& values);

  // Throws FormatError for what write() does not write.
  static BinTree read(ByteReader& in);
  void write(Bytes& out) const;
  // About how many bits it takes in a file.
  double own_bits() const;
};

// The distribution of the values at one site of a trace, as its column is coded with it.
//
// Halving the range of the values again and again gives a tree (bin_tree.hpp); its leaves are the
// bins of the distribution: each has a frequency, and the values within a bin are equally likely. A
// bin may hold one value, so that a few distinct values are a dictionary.

// An offset in a bin is coded this many bits at a time.
constexpr unsigned kOffsetBits = 20;

// A bin as decoders need it, as small as it can be: the tables of all sites compete for the caches.
struct BinChoice {
  // The width of a bin that has an entry among the model's large ones, whose number is `low`.
  static constexpr unsigned kLarge = 63;
  static constexpr unsigned kWidthBits = 6;
  static constexpr unsigned kLowBits = 32 - kWidthBits;

  std::uint32_t low_and_width =
      0;  // the width stands lowest, where shifts by it need no other bits
  std::uint16_t frequency = 0;
  std::int16_t shift = 0;  // added to a slot it is the slot's number in the bin

  std::uint32_t low() const { return low_and_width >> kWidthBits; }
  unsigned width() const { return low_and_width & ((1U << kWidthBits) - 1); }
};
static_assert(sizeof(BinChoice) == 8);

// A bin that is wider than kOffsetBits or lies beyond 2^26.
struct LargeBin {
  std::uint64_t low;
  unsigned width;
};

// Decoding data of a model. The 4,096 slots of a state are cut into equal buckets, at least one for
// each bin; a bucket holds slots of at most two bins (the alias method), so that a value is found
// in one look.
struct DecodingTable {
  const std::uint16_t* limits = nullptr;  // of each bucket: its own bin has the slots below
  const BinChoice* choices = nullptr;     // of each bucket: the other bin, then its own
  const LargeBin* large_bins = nullptr;   // none: it has no large ones
  std::uint32_t shift = 0;                // the bits of a place in a bucket

  // The bin of a slot. Without a branch: which of the two it is cannot be foretold.
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
  // Model of one value, 0.
  SiteModel();

  // The model with which these values and itself take about the fewest bits. There must be a value.
  static SiteModel fit(std::vector<std::uint64_t> values);
  static SiteModel fit(const Histogram& values);
  // The same without what is needed to code: to try, and to complete() if it is chosen.
  static SiteModel draft(const Histogram& values);
  void complete();

  void write(Bytes& out) const { tree_.write(out); }
  // Throws FormatError for what write() does not write.
  static SiteModel read(ByteReader& in);

  // The largest value that a decoder can get from it, whatever it decodes.
  std::uint64_t largest() const;
  // About how many bits the model itself takes, and how many the values take with it: one for which
  // it has no bin takes 24 once, for what the model would have to learn, and one each time that it
  // occurs. Not of a model that was read.
  double own_bits() const { return tree_.own_bits(); }
  double coded_bits(const Histogram& values) const;

  // In ascending order, and the frequency of each.
  const std::vector<Bin>& bins() const { return tree_.bins; }
  std::uint16_t frequency(std::size_t bin) const { return frequencies_[bin]; }
  // The bin that holds a value, or, when none does, of some other one.
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
  std::vector<double> bin_bits_;  // that a value takes in each; none if the model was read
  std::vector<std::uint16_t> limits_;
  std::vector<BinChoice> choices_;
  std::vector<LargeBin> large_bins_;
  std::uint32_t shift_ = kFrequencyBits;
};

// The models of all sites of a trace: sites that are much alike, or rare, share one.

struct ModelSet {
  std::vector<SiteModel> models;
  std::vector<std::uint32_t> model_of;  // of each site; models are numbered by first use

  // Models with which the values of all sites and the models take few bits. Each site must have a
  // value.
  static ModelSet fit(const std::vector<Histogram>& sites);

  void write(Bytes& out) const;
  // Throws FormatError for what write() does not write for this many sites.
  static ModelSet read(ByteReader& in, std::size_t sites);
};

}  // namespace tisim::tit
