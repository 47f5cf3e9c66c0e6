#include "trace/tit/codec/copy_coder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "trace/tit/codec/byte_coder.hpp"

namespace tisim::tit {

namespace {

constexpr unsigned kMaxNumberBits = 32;  // of a number
// Minimum length of a copy with a new distance, and of one with the previous distance.
constexpr std::size_t kMinCopy = 3;
constexpr std::size_t kMinAgain = 2;

unsigned size_in_bits(std::size_t number) {
  unsigned bits = 0;
  for (; number > 0; number >>= 1) ++bits;
  return bits;
}

// Counters of numbers from 1 on.
struct NumberCounters {
  std::array<Counter, kMaxNumberBits + 1> size;  // whether there are more bits
  std::array<std::array<Counter, kMaxNumberBits>, kMaxNumberBits + 1> bit;  // by the number of bits
};

struct CopyCounters {
  std::array<Counter, 2> is_copy;    // after a byte, after a copy
  std::array<Counter, 256> literal;  // by the known bits, after a 1
  Counter is_again;                  // the distance equals that of the previous copy
  NumberCounters distance, length;
};

// Encodes the sequence of choices that make up the bytes.
class CopyEncoder {
 public:
  void put_byte(unsigned char byte) {
    put(counters_.is_copy[after_copy_], 0);
    after_copy_ = 0;
    unsigned known = 1;
    for (int place = 7; place >= 0; --place) {
      const unsigned bit = (byte >> place) & 1U;
      put(counters_.literal[known], bit);
      known = 2 * known + bit;
    }
  }
  void put_copy(std::size_t distance, std::size_t length) {
    put(counters_.is_copy[after_copy_], 1);
    after_copy_ = 1;
    const bool is_again = distance == distance_;
    put(counters_.is_again, is_again ? 1 : 0);
    if (!is_again) put_number(counters_.distance, distance);
    put_number(counters_.length, length - (is_again ? kMinAgain : kMinCopy) + 1);
    distance_ = distance;
  }
  std::size_t last_distance() const { return distance_; }
  std::string finish() { return encoder_.finish(); }

 private:
  void put(Counter& counter, unsigned bit) {
    encoder_.put(bit, counter.probability);
    counter.update(bit);
  }
  void put_number(NumberCounters& counters, std::size_t number) {
    const unsigned bits = size_in_bits(number);
    for (unsigned i = 1; i < bits; ++i) put(counters.size[i], 1);
    put(counters.size[bits], 0);
    for (unsigned place = bits - 1; place > 0; --place) {
      put(counters.bit[bits][place - 1], static_cast<unsigned>(number >> (place - 1)) & 1U);
    }
  }

  BitEncoder encoder_;
  CopyCounters counters_;
  std::size_t distance_ = 0;  // of the previous copy
  unsigned after_copy_ = 0;
};

// Finds worthwhile copies.
class CopyFinder {
 public:
  struct Copy {
    std::size_t distance = 0;
    std::size_t length = 0;
    int gain = 0;  // approximate bits
  };

  explicit CopyFinder(std::string_view bytes)
      : bytes_(bytes), first_(kPlaces, kNone), next_(bytes.size(), kNone) {}

  // Makes the bytes at a place available for copies.
  void add(std::size_t place) {
    if (place + kMinCopy > bytes_.size()) return;
    std::uint32_t& first = first_[slot(place)];
    next_[place] = first;
    first = static_cast<std::uint32_t>(place);
  }

  // The copy with the largest gain at a place, if any.
  Copy find(std::size_t place, std::size_t last_distance) const {
    Copy best;
    const auto consider = [&](std::size_t distance, std::size_t least, unsigned cost) {
      const std::size_t length = length_at(place, distance);
      if (length < least) return;
      const int gain =
          kBits * static_cast<int>(length) - static_cast<int>(cost + 2 * size_in_bits(length));
      if (gain > best.gain) best = {distance, length, gain};
    };
    if (last_distance > 0) consider(last_distance, kMinAgain, 0);
    if (place + kMinCopy > bytes_.size()) return best;
    std::uint32_t from = first_[slot(place)];
    for (unsigned tries = 0; from != kNone && tries < kMaxTries; ++tries, from = next_[from]) {
      const std::size_t distance = place - from;
      consider(distance, kMinCopy, 3 * size_in_bits(distance) / 2 + 2);
    }
    return best;
  }

 private:
  static constexpr int kBits = 4;  // approximate cost of a byte
  static constexpr unsigned kMaxTries = 32;
  static constexpr std::size_t kMaxLength = std::size_t{1} << 16;
  static constexpr unsigned kPlaceBits = 14;
  static constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::size_t length_at(std::size_t place, std::size_t distance) const {
    const std::size_t most = std::min(bytes_.size() - place, kMaxLength);
    const char* const here = bytes_.data() + place;
    std::size_t length = 0;
    while (length < most && here[length] == *(here + length - distance)) ++length;
    return length;
  }
  std::size_t slot(std::size_t place) const {
    std::uint32_t key = 0;
    for (std::size_t i = 0; i < kMinCopy; ++i) {
      key = (key << 8) | static_cast<unsigned char>(bytes_[place + i]);
    }
    return (key * 0x9e3779b1U) >> (32 - kPlaceBits);
  }

  std::string_view bytes_;
  std::vector<std::uint32_t> first_;  // by slot: the last place
  std::vector<std::uint32_t> next_;   // by place: the previous one in its slot
};

// Decodes the choices of CopyEncoder.
class CopyDecoder {
 public:
  CopyDecoder(std::string_view coded, CopyCounters& counters)
      : decoder_(coded), counters_(counters) {}

  // Writes the next byte, or the bytes of the next copy, to `at`; `begin` and `end` delimit the
  // content. Returns the address after them.
  [[gnu::always_inline]] char* put_at(char* at, const char* begin, const char* end) {
    if (decoder_.take(counters_.is_copy[after_copy_]) == 0) {
      after_copy_ = 0;
      unsigned known = 1;
      while (known < 256) known = 2 * known + decoder_.take(counters_.literal[known]);
      *at = static_cast<char>(known & 0xff);
      return at + 1;
    }
    after_copy_ = 1;
    const bool is_again = decoder_.take(counters_.is_again) != 0;
    if (!is_again) distance_ = take_number(counters_.distance);
    const std::size_t length =
        take_number(counters_.length) + (is_again ? kMinAgain : kMinCopy) - 1;
    if (distance_ == 0 || distance_ > static_cast<std::size_t>(at - begin) ||
        length > static_cast<std::size_t>(end - at)) {
      throw FormatError("a coded section copies missing bytes");
    }
    // One by one: a copy may overlap its own output.
    const char* from = at - distance_;
    for (std::size_t i = 0; i < length; ++i) *at++ = *from++;
    return at;
  }
  BitDecoder bits() const { return decoder_; }

 private:
  [[gnu::always_inline]] std::size_t take_number(NumberCounters& counters) {
    unsigned bits = 1;
    while (decoder_.take(counters.size[bits]) != 0) {
      if (++bits > kMaxNumberBits) throw FormatError("a coded section has too large a number");
    }
    std::size_t number = 1;
    for (unsigned place = bits - 1; place > 0; --place) {
      number = 2 * number + decoder_.take(counters.bit[bits][place - 1]);
    }
    return number;
  }

  BitDecoder decoder_;
  CopyCounters& counters_;
  std::size_t distance_ = 0;
  unsigned after_copy_ = 0;
};

}  // namespace

std::string compress_by_copies(std::string_view bytes) {
  CopyEncoder encoder;
  CopyFinder finder(bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const CopyFinder::Copy copy = finder.find(at, encoder.last_distance());
    std::size_t taken = 1;
    if (copy.gain > 0) {
      encoder.put_copy(copy.distance, copy.length);
      taken = copy.length;
    } else {
      encoder.put_byte(static_cast<unsigned char>(bytes[at]));
    }
    for (; taken > 0; --taken) finder.add(at++);
  }
  return encoder.finish();
}

std::string expand_copies(std::string_view coded, std::size_t expected_size) {
  check_expansion(coded, expected_size);
  std::string bytes(expected_size, '\0');
  CopyCounters counters;
  CopyDecoder decoder(coded, counters);
  char* const end = bytes.data() + bytes.size();
  for (char* at = bytes.data(); at != end;) at = decoder.put_at(at, bytes.data(), end);
  const BitDecoder taken = decoder.bits();  // a copy: the decoder stays in registers
  taken.finish();
  return bytes;
}

}  // namespace tisim::tit
