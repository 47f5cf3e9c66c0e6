// Decodes the values of a column.
//
// The coder is an rANS with four states that take turns, so that a value need not wait for the one
// before; a value takes one table look-up, one
// multiplication and at most one word of the stream (more when its bin is wider than 2^20).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tit/column/site_model.hpp"

namespace tisim {
namespace tit {

// A state below this takes a word of the stream, if there is one left.
constexpr std::uint64_t kLeastState = std::uint64_t{1} << 32;
constexpr unsigned kStates = 4;

class ColumnDecoder {
 public:
  // The stream must outlive the decoder. Throws FormatError when it is none.
  void start(const char* begin, const char* end);

  // Any stream gives values, whatever it holds: of the bins of the model, never from beyond the
  // stream, and without an end. A checksum must tell whether it is the right stream.
  std::uint64_t next(const SiteModel& model) { return next(model.table()); }

  std::uint64_t next(const DecodingTable& table) {
    std::uint64_t product;
    const BinChoice bin = find(table.buckets, table.shift, table.slots_in_bucket(), product);
    if (__builtin_expect(bin.width() > kOffsetBits, 0)) {
      const std::uint64_t value = large_value(product, table.large_bins[bin.low()]);
      turn_states();
      return value;
    }
    return take(bin, product);
  }

  // The same, of a model without large bins; `slots`: DecodingTable::slots_in_bucket().
  std::uint64_t next_small(const Bucket* buckets, std::uint32_t shift, std::uint32_t slots) {
    std::uint64_t product;
    const BinChoice bin = find(buckets, shift, slots, product);
    return take(bin, product);
  }

  // Whether the stream ends here: no word is left, and the states are as its encoder began.
  bool finished() const {
    return at_ == end_ && state_ == second_ && state_ == third_ && state_ == fourth_ &&
           (state_ == 0 || state_ == kLeastState);
  }

 private:
  BinChoice find(const Bucket* buckets, std::uint32_t shift, std::uint32_t slots,
                 std::uint64_t& product) const {
    std::uint64_t number;
    const auto slot = static_cast<std::uint32_t>(state_) & (kAllFrequencies - 1);
    const BinChoice bin = DecodingTable::find(buckets, shift, slots, slot, number);
    product = bin.frequency() * (state_ >> kFrequencyBits) + number;
    return bin;
  }

  std::uint64_t take(const BinChoice& bin, std::uint64_t product) {
    const unsigned width = bin.width();
    const std::uint64_t value = bin.low() + (product & ((std::uint64_t{1} << width) - 1));
    state_ = product >> width;
    refill();
    turn_states();
    return value;
  }

  void turn_states() {
    const std::uint64_t last = state_;
    state_ = second_;
    second_ = third_;
    third_ = fourth_;
    fourth_ = last;
  }

  std::uint64_t large_value(std::uint64_t product, const LargeBin& bin);

  void refill() {
    if (at_ == end_) return;
    std::uint32_t word;
    std::memcpy(&word, at_, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    // Without a branch: whether a word is taken is as random as the values.
    const std::uint64_t mask = state_ < kLeastState ? ~std::uint64_t{0} : 0;
    state_ ^= (state_ ^ ((state_ << 32) | word)) & mask;
    at_ += sizeof word & mask;
  }

  static constexpr char kNoWord[sizeof(std::uint32_t)] = {};

  // In an order that keeps compilers from turning the states as vectors in memory.
  std::uint64_t state_ = 0;
  const char* at_ = kNoWord;  // at least four bytes can be read here, also at the end
  std::uint64_t third_ = 0;
  const char* end_ = kNoWord;  // of the words
  std::uint64_t second_ = 0;
  std::uint64_t fourth_ = 0;
};

}  // namespace tit
}  // namespace tisim
