// The tree of bins of a site's model: chosen for values, written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/histogram.hpp"

namespace tisim {
namespace tit {

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

}  // namespace tit
}  // namespace tisim
