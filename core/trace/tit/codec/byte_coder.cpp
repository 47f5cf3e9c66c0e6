#include "trace/tit/codec/byte_coder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tisim::tit {

namespace {

// Probabilities are in units of 1 / 65,536; logits, ln(p / (1 - p)), in units of 1 / 256.
constexpr int kMaxLogit = 2047;

struct Logistic {
  std::array<std::uint16_t, 2 * kMaxLogit + 1> probability_of{};  // of a logit, + kMaxLogit
  std::array<std::int16_t, 4096> logit_of{};                      // of a probability / 16

  Logistic() {
    for (int logit = -kMaxLogit; logit <= kMaxLogit; ++logit) {
      const double probability = 65536.0 / (1.0 + std::exp(-logit / 256.0));
      probability_of[static_cast<std::size_t>(logit + kMaxLogit)] =
          static_cast<std::uint16_t>(std::lround(probability));
    }
    for (std::size_t i = 0; i < logit_of.size(); ++i) {
      const double odds = (static_cast<double>(i) + 0.5) / (4095.5 - static_cast<double>(i));
      logit_of[i] = static_cast<std::int16_t>(std::lround(256.0 * std::log(odds)));
    }
  }
};

const Logistic& logistic() {
  static const Logistic tables;
  return tables;
}

// Predicts the bits of a byte sequence from the preceding ones: from what followed the same last 0,
// 1, 2 or 3 bytes, from the byte before the last, and from the longest repetition, weighted by the
// success of each so far.
class BitPredictor {
 public:
  explicit BitPredictor(std::size_t size) {
    unsigned bits = 10;
    while (bits < 20 && (std::size_t{1} << bits) < size * 32) ++bits;
    shift_ = 32 - bits;
    counters_.resize(std::size_t{1} << bits);
    last_seen_.assign(std::size_t{1} << std::min(bits, 16U), 0);
    bytes_.reserve(size);
    for (auto& set : weights_) set.fill(kFirstWeight);
    start_byte();
  }

  // The probability that the next bit is 1, in 1 / 65,536: from 22 to 65,514.
  std::uint32_t probability() {
    unsigned longest = 0;
    for (std::size_t i = 0; i < kContexts; ++i) {
      const std::uint32_t slot = (contexts_[i] + partial_) * 0x9e3779b1U;
      chosen_[i] = &counters_[slot >> shift_];
      logits_[i] = tables_.logit_of[chosen_[i]->probability >> 4];
      if (chosen_[i]->seen > 0 && i < kOrders) longest = static_cast<unsigned>(i) + 1;
    }
    std::int32_t& repeated = logits_[kContexts];
    repeated = 0;
    if (match_length_ > 0) {
      const unsigned expected = byte_at(match_) | 0x100U;
      if ((expected >> (8 - known_)) == partial_) {
        expected_bit_ = (expected >> (7 - known_)) & 1;
        const std::int32_t logit = tables_.logit_of[match_counters_[match_rank()].probability >> 4];
        repeated = expected_bit_ != 0 ? logit : -logit;
      } else {
        match_length_ = 0;
      }
    }
    set_ = longest * 3 + (match_length_ == 0 ? 0 : match_length_ < 16 ? 1 : 2);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kInputs; ++i) {
      sum += std::int64_t{logits_[i]} * weights_[set_][i];
    }
    const auto logit = static_cast<int>(
        std::max<std::int64_t>(-kMaxLogit, std::min<std::int64_t>(kMaxLogit, sum >> 16)));
    predicted_ = tables_.probability_of[static_cast<std::size_t>(logit + kMaxLogit)];
    return predicted_;
  }

  // Learns from the bit that was predicted.
  void update(unsigned bit) {
    const std::int32_t error = (bit != 0 ? 65535 : 0) - static_cast<std::int32_t>(predicted_);
    for (std::size_t i = 0; i < kInputs; ++i) {
      weights_[set_][i] += static_cast<std::int32_t>(
          (std::int64_t{logits_[i]} * error * kLearningRate + (1 << 15)) >> 16);
    }
    for (Counter* counter : chosen_) counter->update(bit);
    if (match_length_ > 0) {
      match_counters_[match_rank()].update(bit == expected_bit_ ? 1 : 0);
      if (bit != expected_bit_) match_length_ = 0;
    }
    partial_ = partial_ * 2 + bit;
    if (++known_ == 8) end_byte();
  }

  std::string take() { return std::move(bytes_); }

 private:
  static constexpr std::size_t kOrders = 4;
  static constexpr std::size_t kContexts = kOrders + 1;
  static constexpr std::size_t kInputs = kContexts + 1;
  static constexpr std::int32_t kFirstWeight = 65536 * 3 / 10;
  static constexpr std::int32_t kLearningRate = 2;
  static constexpr std::size_t kMinMatch = 4;

  std::size_t match_rank() const { return std::min<std::size_t>(match_length_, 15); }

  void end_byte() {
    bytes_ += static_cast<char>(partial_ & 0xff);
    const std::size_t end = bytes_.size();
    if (match_length_ > 0) {
      ++match_;
      ++match_length_;
    }
    if (end >= kMinMatch) {
      std::uint32_t hash = 0;
      for (std::size_t i = 1; i <= kMinMatch; ++i) hash = (hash << 8) | byte_at(end - i);
      std::uint32_t& last = last_seen_[(hash * 0x9e3779b1U) % last_seen_.size()];
      if (match_length_ == 0 && last > 0) {
        match_ = last;
        while (match_length_ < 32 && match_length_ < last &&
               bytes_[last - 1 - match_length_] == bytes_[end - 1 - match_length_]) {
          ++match_length_;
        }
      }
      last = static_cast<std::uint32_t>(end);
    }
    start_byte();
  }

  void start_byte() {
    partial_ = 1;
    known_ = 0;
    std::uint32_t hash = 0;
    contexts_[0] = 0;
    for (std::size_t order = 1; order < kOrders; ++order) {
      hash = (hash + before(order) + 1) * 0x2f0b4c47U;
      contexts_[order] = (hash + static_cast<std::uint32_t>(order)) << 8;
    }
    contexts_[kOrders] = ((before(2) + 1) * 0x7a4d5b13U + 9) << 8;
  }

  unsigned byte_at(std::size_t place) const { return static_cast<unsigned char>(bytes_[place]); }

  std::uint32_t before(std::size_t back) const {
    return back <= bytes_.size() ? byte_at(bytes_.size() - back) : 0;
  }

  const Logistic& tables_ = logistic();
  std::string bytes_;  // known bytes
  std::vector<Counter> counters_;
  std::vector<std::uint32_t> last_seen_;
  std::array<std::array<std::int32_t, kInputs>, (kOrders + 1) * 3> weights_;
  std::array<Counter, 16> match_counters_;
  std::array<std::uint32_t, kContexts> contexts_{};
  std::array<Counter*, kContexts> chosen_{};
  std::array<std::int32_t, kInputs> logits_{};
  unsigned shift_ = 0;
  unsigned partial_ = 1;  // the known bits of the byte, after a 1
  unsigned known_ = 0;
  unsigned expected_bit_ = 0;
  std::size_t match_ = 0;  // its continuation is expected, after match_length_ equal bytes
  std::size_t match_length_ = 0;
  std::size_t set_ = 0;
  std::uint32_t predicted_ = 32768;
};

}  // namespace

std::string expand_bytes(std::string_view coded, std::size_t expected_size) {
  check_expansion(coded, expected_size);
  BitPredictor predictor(expected_size);
  BitDecoder decoder(coded);
  for (std::size_t bits = expected_size * 8; bits > 0; --bits) {
    predictor.update(decoder.take(predictor.probability()));
  }
  decoder.finish();
  return predictor.take();
}

}  // namespace tisim::tit
