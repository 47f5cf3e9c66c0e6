// A binary arithmetic coder with counters that learn the probabilities of bits. docs/tit.md
// describes the arithmetic in detail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

// Step of a probability, in 1 / 65,536 of the distance, by number of observed bits.
struct CounterRates {
  static constexpr unsigned kMaxSeen = 30;

  std::array<std::int32_t, kMaxSeen + 1> of{};

  constexpr CounterRates() {
    for (unsigned seen = 0; seen <= kMaxSeen; ++seen) {
      of[seen] = static_cast<std::int32_t>(131072U / (2U * seen + 3U));
    }
  }
};
inline constexpr CounterRates kCounterRates;

// Probability that a bit is 1, in 1 / 65,536. It follows the observed bits, more slowly the more of
// them there are.
struct Counter {
  std::uint16_t probability = 32768;
  std::uint16_t seen = 0;

  void update(unsigned bit) {
    const int target = bit != 0 ? 65535 : 0;
    move((target - probability) * rate());
  }
  std::int64_t rate() const { return kCounterRates.of[seen]; }
  // Moves by the remaining distance times rate().
  void move(std::int64_t way) {
    probability = static_cast<std::uint16_t>(probability + (way >> 16));
    if (seen < CounterRates::kMaxSeen) ++seen;
  }
};

// The interval of the coder.
struct CodeInterval {
  std::uint32_t low = 0;
  std::uint32_t high = ~std::uint32_t{0};

  // The last number of the subinterval for a 1.
  std::uint32_t cut(std::uint32_t probability) const {
    return low + static_cast<std::uint32_t>((std::uint64_t{high - low} * probability) >> 16);
  }
  void take(unsigned bit, std::uint32_t at) {
    if (bit != 0) {
      high = at;
    } else {
      low = at + 1;
    }
  }
  bool has_byte() const { return ((low ^ high) >> 24) == 0; }
  void drop_byte() {
    low <<= 8;
    high = (high << 8) | 0xff;
  }
};

class BitEncoder {
 public:
  // `probability`: that the bit is 1, in 1 / 65,536.
  void put(unsigned bit, std::uint32_t probability) {
    interval_.take(bit, interval_.cut(probability));
    for (; interval_.has_byte(); interval_.drop_byte()) {
      coded_ += static_cast<char>(interval_.high >> 24);
    }
  }
  // Returns the code, ended by the fewest bytes that, with zeros, are in the interval.
  std::string finish() {
    for (unsigned size = 0; size <= 4; ++size) {
      const std::uint64_t rest = (std::uint64_t{1} << (32 - 8 * size)) - 1;
      const std::uint64_t code = (interval_.low + rest) & ~rest;
      if (code > interval_.high) continue;
      for (unsigned i = 0; i < size; ++i) coded_ += static_cast<char>(code >> (24 - 8 * i));
      break;
    }
    return std::move(coded_);
  }

 private:
  CodeInterval interval_;
  std::string coded_;
};

class BitDecoder {
 public:
  // `coded` must outlive the decoder.
  explicit BitDecoder(std::string_view coded) : coded_(coded) {
    for (int i = 0; i < 4; ++i) code_ = (code_ << 8) | next_byte();
  }

  unsigned take(std::uint32_t probability) {
    const std::uint32_t cut = interval_.cut(probability);
    const unsigned bit = code_ <= cut ? 1 : 0;
    interval_.take(bit, cut);
    for (; interval_.has_byte(); interval_.drop_byte()) code_ = (code_ << 8) | next_byte();
    return bit;
  }
  // The same with the probability of a counter, which learns the bit.
  [[gnu::always_inline]] unsigned take(Counter& counter) {
    const std::uint32_t cut = interval_.cut(counter.probability);
    const std::int64_t rate = counter.rate();
    unsigned bit = 0;
    if (code_ <= cut) {
      interval_.high = cut;
      counter.move((65535 - counter.probability) * rate);
      bit = 1;
    } else {
      interval_.low = cut + 1;
      counter.move(-counter.probability * rate);
    }
    while (interval_.has_byte()) {
      interval_.drop_byte();
      code_ = (code_ << 8) | next_byte();
    }
    return bit;
  }
  // Call when all is taken. Throws FormatError if the code continues or ended too early.
  void finish() const {
    if (coded_.size() > taken_ || coded_.size() + 4 < taken_) {
      throw FormatError("a coded section has " + std::to_string(coded_.size()) +
                        " bytes, which do not match its content");
    }
  }

 private:
  std::uint32_t next_byte() {
    const std::size_t place = taken_++;
    return place < coded_.size() ? static_cast<unsigned char>(coded_[place]) : 0;
  }

  std::string_view coded_;
  std::size_t taken_ = 0;
  CodeInterval interval_;
  std::uint32_t code_ = 0;
};

// Upper bound on the bytes that a byte of code represents: the less probable bit of a predicted
// byte keeps at least 22 / 65,536 of the interval. Higher ratios are stored in another form.
constexpr std::size_t kMaxExpansion = 2100;

inline bool may_expand(std::string_view coded, std::size_t expected_size) {
  return expected_size / kMaxExpansion <= coded.size();
}

// Throws FormatError if so few bytes of code cannot represent so many bytes.
inline void check_expansion(std::string_view coded, std::size_t expected_size) {
  if (may_expand(coded, expected_size)) return;
  throw FormatError("a coded section is too short for the " + std::to_string(expected_size) +
                    " bytes that it should contain");
}

// Bytes coded adaptively, without tables of their own: the form of tables and grammars in files
// before writers coded them by copies (copy_coder.hpp). Each bit of a byte, the high one first, is
// predicted from the bytes before.

// Returns the decoded bytes, whose number must be known. Throws FormatError if `coded` does not
// represent that many bytes. Allocates at most about 2,100 bytes per byte of `coded`. The time is
// proportional to the number of bytes, about one second per megabyte.
std::string expand_bytes(std::string_view coded, std::size_t expected_size);

}  // namespace tisim::tit
