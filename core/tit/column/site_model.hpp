// The distribution of the values at one site of a trace, as its column is coded with it.
//
// Halving the range of the values again and again gives a tree (bin_tree.hpp); its leaves are the
// bins of the distribution: each has a frequency, and the values within a bin are equally likely. A
// bin may hold one value, so that a few distinct values are a dictionary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tit/codec/bytes.hpp"
#include "tit/column/bin_tree.hpp"
#include "tit/column/histogram.hpp"

namespace tisim {
namespace tit {

// An offset in a bin is coded this many bits at a time.
constexpr unsigned kOffsetBits = 20;

// A bin as the decoder meets it.
struct BinChoice {
  std::uint64_t low = 0;
  std::uint16_t frequency = 0;
  std::int16_t adjustment = 0;  // from the place in the bucket to the place in the bin
  std::uint16_t threshold = 0;  // of a bucket's first choice: places below it are this bin's
  std::uint8_t width = 0;
};

// The 4,096 slots of a state are cut into equal buckets, at least one for each bin; a bucket holds
// slots of at most two bins (the alias method), so that a value is found in one look.
struct Bucket {
  BinChoice choices[2];
};
static_assert(sizeof(Bucket) == 32, "two buckets a cache line");

// What the decoder needs of a model.
struct DecodingTable {
  const Bucket* buckets = nullptr;
  std::uint32_t shift = 0;  // the bits of a place in a bucket
};

class SiteModel {
 public:
  // Of one value, 0.
  SiteModel();

  // The model with which these values and itself take about the fewest bits. There must be a value.
  static SiteModel fit(std::vector<std::uint64_t> values);
  static SiteModel fit(const Histogram& values);

  void write(Bytes& out) const { tree_.write(out); }
  // Throws FormatError for what write() does not write.
  static SiteModel read(ByteReader& in) { return SiteModel(BinTree::read(in)); }

  // The largest value that a decoder can get from it, whatever it decodes.
  std::uint64_t largest() const;
  // About how many bits the model itself takes, and how many the values take with it: infinitely
  // many when it has no bin for one of them.
  double own_bits() const { return tree_.own_bits(); }
  double coded_bits(const Histogram& values) const;
  double coded_bits(const ValueCount& value) const;

  // In ascending order, and the frequency of each.
  const std::vector<Bin>& bins() const { return tree_.bins; }
  std::uint16_t frequency(std::size_t bin) const { return frequencies_[bin]; }
  // The bin that holds a value, or, when none does, of some other one.
  std::size_t bin_of(std::uint64_t value) const;

  const std::vector<Bucket>& buckets() const { return buckets_; }
  DecodingTable table() const { return {buckets_.data(), shift_}; }

 private:
  explicit SiteModel(BinTree tree);

  void set_frequencies();
  void make_buckets();

  BinTree tree_;
  std::vector<std::uint16_t> frequencies_;
  std::vector<Bucket> buckets_;
  std::uint32_t shift_ = kFrequencyBits;
};

}  // namespace tit
}  // namespace tisim
