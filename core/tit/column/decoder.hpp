// Decodes the values of a column.
//
// The coder is an rANS with two states that take turns; a value takes one table look-up, one
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

class ColumnDecoder {
 public:
  // The stream must outlive the decoder. Throws FormatError when it is none.
  void start(const char* begin, const char* end);

  // Any stream gives values, whatever it holds: of the bins of the model, never from beyond the
  // stream, and without an end. A checksum must tell whether it is the right stream.
  std::uint64_t next(const SiteModel& model) { return next(model.table()); }

  std::uint64_t next(const DecodingTable& table) {
    std::uint32_t number;
    const BinChoice& bin =
        table.find(static_cast<std::uint32_t>(state_) & (kAllFrequencies - 1), number);
    const unsigned width = bin.width();
    const std::uint64_t product = bin.frequency() * (state_ >> kFrequencyBits) + number;
    std::uint64_t value = bin.low();
    if (__builtin_expect(width <= kOffsetBits, 1)) {
      value += product & ((std::uint64_t{1} << width) - 1);
      state_ = product >> width;
      refill();
    } else {
      value = large_value(product, table.large_bins[value]);
    }
    const std::uint64_t other = other_;
    other_ = state_;
    state_ = other;
    return value;
  }

  // Whether the stream ends here: no word is left, and the states are as its encoder began.
  bool finished() const {
    return at_ == end_ && state_ == other_ && (state_ == 0 || state_ == kLeastState);
  }

 private:
  std::uint64_t large_value(std::uint64_t product, const LargeBin& bin);

  void refill() {
    std::uint32_t word;
    std::memcpy(&word, at_, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    const bool refilled = state_ < kLeastState && at_ != end_;
    const std::uint64_t filled = (state_ << 32) | word;
    state_ = refilled ? filled : state_;
    at_ += refilled ? sizeof word : 0;
  }

  static constexpr char kNoWord[sizeof(std::uint32_t)] = {};

  std::uint64_t state_ = 0;
  std::uint64_t other_ = 0;
  const char* at_ = kNoWord;   // at least four bytes can be read here, also at the end
  const char* end_ = kNoWord;  // of the words
};

}  // namespace tit
}  // namespace tisim
