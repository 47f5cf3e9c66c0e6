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

// A bin in a bucket, as small as it can be: the tables of all sites compete for the caches. The
// width stands lowest, so that it need not be taken out for a shift by it.
class BinChoice {
 public:
  // The width of a bin that has an entry among the model's large ones, whose number is `low`.
  static constexpr unsigned kLarge = 63;
  static constexpr unsigned kLowBits = 31;  // of `low`

  BinChoice() = default;
  BinChoice(std::uint32_t low, unsigned width, std::uint32_t frequency, std::int32_t shift)
      : bits_(width | (std::uint64_t{frequency} << kFrequencyPlace) |
              (std::uint64_t{low} << kLowPlace) |
              (static_cast<std::uint64_t>(std::int64_t{shift}) << kShiftPlace)) {}

  // One of two, without a branch: which one it is cannot be foretold.
  static BinChoice one_of(BinChoice first, BinChoice second, bool is_second) {
    const std::uint64_t mask = is_second ? ~std::uint64_t{0} : 0;
    BinChoice chosen;
    chosen.bits_ = first.bits_ ^ ((first.bits_ ^ second.bits_) & mask);
    return chosen;
  }

  std::uint32_t low() const {
    return static_cast<std::uint32_t>(bits_ >> kLowPlace) & ((std::uint32_t{1} << kLowBits) - 1);
  }
  std::uint32_t frequency() const {
    constexpr std::uint32_t kMask = (std::uint32_t{1} << (kLowPlace - kFrequencyPlace)) - 1;
    return static_cast<std::uint32_t>(bits_ >> kFrequencyPlace) & kMask;
  }
  unsigned width() const { return static_cast<unsigned>(bits_) & kLarge; }
  // Of a bucket's first bin: how many of the bucket's slots are its. Of the second one: what is
  // added to a place in the bucket for the number in the bin.
  std::int64_t shift() const { return static_cast<std::int64_t>(bits_) >> kShiftPlace; }

 private:
  static constexpr unsigned kFrequencyPlace = 6;
  static constexpr unsigned kLowPlace = 19;
  static constexpr unsigned kShiftPlace = 50;

  std::uint64_t bits_ = 0;
};

// The 4,096 slots of a state are cut into equal buckets, at least one for each bin; a bucket holds
// slots of at most two bins (the alias method), so that a value is found in one look.
struct Bucket {
  BinChoice choices[2];

  std::uint32_t own_slots() const { return static_cast<std::uint32_t>(choices[0].shift()); }
};
static_assert(sizeof(Bucket) == 16, "four buckets a cache line");

// A bin that is wider than kOffsetBits or lies beyond 2^31.
struct LargeBin {
  std::uint64_t low;
  unsigned width;
};

// What the decoder needs of a model.
struct DecodingTable {
  const Bucket* buckets = nullptr;
  const LargeBin* large_bins = nullptr;
  std::uint32_t shift = 0;  // the bits of a place in a bucket

  // As a mask: all of its bits are set.
  std::uint32_t slots_in_bucket() const { return (std::uint32_t{1} << shift) - 1; }

  // The bin of a slot, and the slot's number in it.
  BinChoice find(std::uint32_t slot, std::uint64_t& number) const {
    return find(buckets, shift, slots_in_bucket(), slot, number);
  }

  static BinChoice find(const Bucket* buckets, std::uint32_t shift, std::uint32_t slots,
                        std::uint32_t slot, std::uint64_t& number) {
    const std::uint32_t place = slot & slots;
    const Bucket& bucket = buckets[slot >> shift];
    const bool is_second = place >= bucket.own_slots();
    const BinChoice choice = BinChoice::one_of(bucket.choices[0], bucket.choices[1], is_second);
    number = place + (static_cast<std::uint64_t>(choice.shift()) &
                      (0 - (is_second ? std::uint64_t{1} : 0)));
    return choice;
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
  // many when it has no bin for one of them.
  double own_bits() const { return tree_.own_bits(); }
  double coded_bits(const Histogram& values) const;
  // The same, but a value for which it has no bin takes so many bits once, and one each time that
  // it occurs. Stops when there are more than `most`.
  double coded_bits(const Histogram& values, double unknown_bits, double most) const;

  // In ascending order, and the frequency of each.
  const std::vector<Bin>& bins() const { return tree_.bins; }
  std::uint16_t frequency(std::size_t bin) const { return frequencies_[bin]; }
  // The bin that holds a value, or, when none does, of some other one.
  std::size_t bin_of(std::uint64_t value) const;

  const std::vector<Bucket>& buckets() const { return buckets_; }
  DecodingTable table() const { return {buckets_.data(), large_bins_.data(), shift_}; }

 private:
  explicit SiteModel(BinTree tree);

  void set_frequencies();

  BinTree tree_;
  std::vector<std::uint16_t> frequencies_;
  std::vector<double> bin_bits_;  // that a value takes in each
  std::vector<Bucket> buckets_;
  std::vector<LargeBin> large_bins_;
  std::uint32_t shift_ = kFrequencyBits;
};

}  // namespace tit
}  // namespace tisim
