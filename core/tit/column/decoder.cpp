#include "tit/column/decoder.hpp"

#include <algorithm>

#include "tit/codec/error.hpp"

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

// The words, then the two states without their leading zeros, then how many bytes each takes.
void ColumnDecoder::start(const char* begin, const char* end) {
  *this = ColumnDecoder();
  if (begin == end) return;
  const auto sizes = static_cast<unsigned char>(end[-1]);
  const unsigned first_size = sizes & 15;
  const unsigned second_size = sizes >> 4;
  const std::size_t states_size = std::size_t{first_size} + second_size + 1;
  const auto size = static_cast<std::size_t>(end - begin);
  const bool has_words = size > states_size;
  if (first_size > 8 || second_size > 8 || size < states_size ||
      (size - states_size) % sizeof(std::uint32_t) != 0 ||
      // So that four bytes can be read at the end of the words.
      (has_words && states_size < sizeof(std::uint32_t))) {
    throw FormatError("the values of a column are none");
  }
  const char* const states = end - states_size;
  state_ = state_in(states, first_size);
  other_ = state_in(states + first_size, second_size);
  if (has_words) {
    at_ = begin;
    end_ = states;
  }
}

std::uint64_t ColumnDecoder::large_value(std::uint64_t product, const LargeBin& bin) {
  const unsigned low_bits = std::min(bin.width, kOffsetBits);
  std::uint64_t offset = product & ((std::uint64_t{1} << low_bits) - 1);
  state_ = product >> low_bits;
  refill();
  for (unsigned done = low_bits; done < bin.width;) {
    const unsigned taken = std::min(bin.width - done, kOffsetBits);
    offset |= (state_ & ((std::uint64_t{1} << taken) - 1)) << done;
    state_ >>= taken;
    refill();
    done += taken;
  }
  return bin.low + offset;
}

}  // namespace tit
}  // namespace tisim
