#include "trace/tit/column/decoder.hpp"

#include <algorithm>

#include "trace/tit/codec/error.hpp"

namespace tisim {
namespace tit {

namespace {

std::uint64_t state_in(const char* bytes, unsigned size) {
  std::uint64_t state = 0;
  for (unsigned i = 0; i < size; ++i) {
    state |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return state;
}

}  // namespace

// The words, then the states without their leading zeros, then how many bytes each takes.
void ColumnDecoder::start(const char* begin, const char* end) {
  *this = ColumnDecoder();
  if (begin == end) return;
  constexpr std::size_t kSizes = kStates / 2;
  const auto size = static_cast<std::size_t>(end - begin);
  unsigned sizes[kStates] = {};
  std::size_t states_size = kSizes;
  if (size >= kSizes) {
    for (unsigned i = 0; i < kStates; ++i) {
      const auto both = static_cast<unsigned char>(end[static_cast<int>(i / 2) - int{kSizes}]);
      sizes[i] = i % 2 == 0 ? both & 15 : both >> 4;
      states_size += sizes[i];
    }
  }
  const bool has_words = size > states_size;
  if (std::any_of(sizes, sizes + kStates, [](unsigned bytes) { return bytes > 8; }) ||
      size < states_size || (size - states_size) % sizeof(std::uint32_t) != 0 ||
      // So that four bytes can be read at the end of the words.
      (has_words && states_size < sizeof(std::uint32_t))) {
    throw FormatError("the values of a column are none");
  }
  const char* at = end - states_size;
  if (has_words) {
    state_.at = begin;
    state_.end = at;
  }
  for (unsigned i = 0; i < kStates; ++i) {
    state_.states[i] = state_in(at, sizes[i]);
    at += sizes[i];
  }
}

std::uint64_t ColumnDecoder::next(const DecodingTable& table) {
  std::uint64_t& state = state_.states[0];
  const std::uint64_t slot = state & (kAllFrequencies - 1);
  const BinChoice& bin = table.find(slot);
  std::uint64_t value;
  if (bin.width() > kOffsetBits) {
    value = large_value(DecoderState::product_of(bin, slot, state), table.large_bins[bin.low()]);
  } else {
    value = DecoderState::take_small<DecoderState::Words::may_end>(
        table.limits, table.choices, table.shift, state, state_.at, state_.end);
  }
  std::rotate(state_.states, state_.states + 1, state_.states + kStates);
  return value;
}

std::uint64_t ColumnDecoder::large_value(std::uint64_t product, const LargeBin& bin) {
  std::uint64_t& state = state_.states[0];
  const unsigned low_bits = std::min(bin.width, kOffsetBits);
  std::uint64_t offset = product & ((std::uint64_t{1} << low_bits) - 1);
  state = product >> low_bits;
  refill();
  for (unsigned done = low_bits; done < bin.width;) {
    const unsigned taken = std::min(bin.width - done, kOffsetBits);
    offset |= (state & ((std::uint64_t{1} << taken) - 1)) << done;
    state >>= taken;
    refill();
    done += taken;
  }
  return bin.low + offset;
}

}  // namespace tit
}  // namespace tisim
