// The distribution of the values at one site of a trace, as its column is coded with it.
//
// Halving the range of the values again and again gives a tree (bin_tree.hpp); its leaves are the
// bins of the distribution: each has a frequency, and the values within a bin are equally likely. A
// bin may hold one value, so that a few distinct values are a dictionary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/bin_tree.hpp"
#include "trace/tit/column/histogram.hpp"

namespace tisim {
namespace tit {

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

// What the decoder needs of a model. The 4,096 slots of a state are cut into equal buckets, at
// least one for each bin; a bucket holds slots of at most two bins (the alias method), so that a
// value is found in one look.
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
  // Of one value, 0.
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
  // About how many bits the model itself takes, and how many the values take with it: infinitely
  // many when it has no bin for one of them. Not of a model that was read.
  double own_bits() const { return tree_.own_bits(); }
  double coded_bits(const Histogram& values) const;
  // The same, but a value for which it has no bin takes so many bits once, and one each time that
  // it occurs. Stops when there are more than `most`.
  double coded_bits(const Histogram& values, double unknown_bits, double most) const;
  // About how many bits more these values and the `own` ones it was made for take if they share a
  // model than if each has its own, at least: what it takes to tell from which of both a value is,
  // for each of a few ranges of values.
  double sharing_bits(std::uint64_t own, const Histogram& values) const;

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

}  // namespace tit
}  // namespace tisim
