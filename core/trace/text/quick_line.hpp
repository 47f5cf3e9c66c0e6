// Parses the most common lines of a modern trace eight bytes at a time.
//
// It gives the same result as LineParser, or leaves the line to LineParser: a line with a sign, two
// blanks, a comment, a nonexistent rank or a collective.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "trace/vocabulary/datatype.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

class QuickLine {
 public:
  // Number of bytes after a line's newline that parse() may read.
  static constexpr std::size_t kPadding = 32;

  // Lines begin with `rank` and a blank, or with the action if `rank` is negative. `ranks`: their
  // number.
  QuickLine(std::int32_t rank, std::int32_t ranks) : last_rank_(ranks - 1) {
    if (rank < 0) return;
    const std::string text = std::to_string(rank) + " ";
    usable_ = text.size() <= sizeof prefix_;
    if (!usable_) return;
    prefix_length_ = static_cast<std::uint32_t>(text.size());
    std::memcpy(&prefix_, text.data(), text.size());
    prefix_mask_ = low_bytes(prefix_length_);
  }

  void set_default_width(std::uint8_t bytes) { default_width_ = bytes; }

  // Parses the line at `p`, which has a newline and kPadding readable bytes after it. Returns the
  // address after the newline, or nullptr (`op` is then unspecified) if the line is not supported.
  const char* parse(const char* p, Op& op) const {
    const Word* action = nullptr;
    if ((p = parse_word(p, action)) == nullptr) return nullptr;
    op = Op{};
    op.kind = action->kind;
    if (action->kind == Kind::compute) return parse_compute(p, op);
    std::int64_t fault = 0;
    p = parse_three<false>(p, *action, op, fault);
    return fault >= 0 && *p == '\n' ? p + 1 : nullptr;
  }

  // The same for a line that ends in ` request=N`. `made`: number of operations, one or two.
  const char* parse_numbered(const char* p, Op* ops, std::size_t& made) const {
    const Word* action = nullptr;
    if ((p = parse_word(p, action)) == nullptr) return nullptr;
    ops[0] = Op{};
    ops[0].kind = action->kind;
    std::int64_t fault = 0;
    if (action->is_key) {
      if (load(p) != kRequest) return nullptr;
      made = 1;
      ops[0].flags = kNumbered;
      ops[0].peer = kAnySource;
    } else {
      if (action->kind != Kind::isend && action->kind != Kind::irecv) return nullptr;
      p = parse_three<true>(p, *action, ops[0], fault);
      if (fault < 0 || *p != ' ' || load(++p) != kRequest) return nullptr;
      made = 2;
      ops[1] = Op{};
      ops[1].kind = Kind::number_request;
      ops[1].flags = kContinuation;
    }
    p += sizeof kRequest;
    ops[made - 1].bytes = digits(p, fault);
    return fault >= 0 && *p == '\n' ? p + 1 : nullptr;
  }

  // Eight bytes, with the first one lowest.
  static std::uint64_t load(const char* p) {
    std::uint64_t value;
    std::memcpy(&value, p, sizeof value);
    if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
    return value;
  }

  // The number at `p`, where eight bytes must be readable; moves `p` past it. Only 7 digits of a
  // longer number are read, so that the required next character is missing; `fault` becomes
  // negative if there is no number.
  static std::int64_t digits(const char*& p, std::int64_t& fault) {
    constexpr std::uint64_t kEighth = std::uint64_t{1} << 63;
    const std::uint64_t bytes = load(p) ^ 0x3030303030303030U;           // a digit is now its value
    const std::uint64_t others = (bytes + 0x7676767676767676U) | bytes;  // top bit: not a digit
    // Bit 7 of the first byte that is not a digit: 8 times the number of digits, plus 7.
    const auto end =
        static_cast<unsigned>(std::countr_zero((others & 0x8080808080808080U) | kEighth));
    fault |= static_cast<std::int64_t>(end) - 15;
    p += end >> 3;
    // Shift the digits to the top, with zeros below, then combine two, four and eight.
    std::uint64_t v = bytes << ((71U - end) & 63U);
    v = v * 10 + (v >> 8);
    v = ((v & 0x000000ff000000ffU) * 0x000f424000000064U) +
        (((v >> 16) & 0x000000ff000000ffU) * 0x0000271000000001U);
    return static_cast<std::int64_t>(v >> 32);
  }

 private:
  struct Word {
    std::uint64_t text = 1;  // with the blank after it; 1 matches nothing under the mask 0
    std::uint64_t mask = 0;
    std::uint32_t length = 0;
    Kind kind = Kind::nop;
    bool is_key = false;  // src dst tag instead of peer tag count
  };

  // "request=" as loaded by load().
  static constexpr std::uint64_t kRequest = 0x3d74736575716572U;

  static constexpr std::uint64_t low_bytes(unsigned count) {
    return count >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * count)) - 1;
  }

  // Found by trial: distinguishes the first four letters of the words below.
  static constexpr unsigned hash(std::uint32_t letters) { return (letters * kMultiplier) >> 29; }
  static constexpr std::uint32_t kMultiplier = 0xddU;

  struct Words {
    Word slots[8] = {};

    constexpr Words() {
      add("compute ", Kind::compute, false);
      add("send ", Kind::send, false);
      add("isend ", Kind::isend, false);
      add("recv ", Kind::recv, false);
      add("irecv ", Kind::irecv, false);
      add("wait ", Kind::wait, true);
      add("test ", Kind::test, true);
    }
    constexpr void add(const char* text, Kind kind, bool is_key) {
      Word word;
      word.text = 0;
      for (; text[word.length] != '\0'; ++word.length) {
        word.text |= static_cast<std::uint64_t>(text[word.length]) << (8 * word.length);
      }
      word.mask = low_bytes(word.length);
      word.kind = kind;
      word.is_key = is_key;
      Word& slot = slots[hash(static_cast<std::uint32_t>(word.text))];
      // Two words in one slot are not a constant expression and do not compile.
      if (slot.length != 0) throw "choose another multiplier";
      slot = word;
    }
    constexpr const Word& operator[](unsigned i) const { return slots[i]; }
  };
  static const Words kWords;

  // Parses the action of the line at `p`; returns the address after it.
  [[gnu::always_inline]] const char* parse_word(const char* p, const Word*& parsed) const {
    if ((load(p) & prefix_mask_) != prefix_ || !usable_) return nullptr;
    p += prefix_length_;
    const std::uint64_t word = load(p);
    const Word& action = kWords[hash(static_cast<std::uint32_t>(word))];
    if ((word & action.mask) != action.text) return nullptr;
    parsed = &action;
    return p + action.length;
  }

  // `fault` becomes negative if these are not three numbers. `numbered`: `request=` may follow.
  template <bool numbered>
  [[gnu::always_inline]] const char* parse_three(const char* p, const Word& action, Op& op,
                                                 std::int64_t& fault) const {
    const std::int64_t first = digits(p, fault);
    fault |= -(static_cast<unsigned char>(*p++) ^ ' ');
    const std::int64_t second = digits(p, fault);
    fault |= -(static_cast<unsigned char>(*p++) ^ ' ');
    const std::int64_t third = digits(p, fault);
    fault |= last_rank_ - first;
    op.peer = static_cast<std::int32_t>(first);
    if (action.is_key) {
      op.bytes = second;
      op.tag = static_cast<std::int32_t>(third);
      fault |= last_rank_ - second;
    } else {
      std::int64_t width = default_width_;
      if (*p == ' ' && (!numbered || load(p + 1) != kRequest)) {
        const std::int64_t type = digits(++p, fault);
        if (type >= static_cast<std::int64_t>(kTypeWidth.size())) {
          fault = -1;
          return p;
        }
        width = kTypeWidth[static_cast<std::size_t>(type)];
        fault |= kNoType - 1 - width;
      }
      op.bytes = third * width;
      op.tag = static_cast<std::int32_t>(second);
    }
    return p;
  }

  // A volume such as 14571 or 1.59373e+06: up to 15 digits are exact, and so is one multiplication
  // or division by a power of ten up to 1e22.
  static const char* parse_compute(const char* p, Op& op) {
    std::int64_t fault = 0;
    const char* const start = p;
    const std::int64_t whole = digits(p, fault);
    if (fault >= 0 && *p == '\n') {
      op.amount = static_cast<double>(whole);
      return p + 1;
    }
    return parse_real(start, op);
  }

  static const char* parse_real(const char* p, Op& op) {
    std::uint64_t mantissa = 0;
    const char* const first = p;
    const auto take_digits = [&] {
      for (; *p >= '0' && *p <= '9'; ++p) {
        mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
      }
    };
    take_digits();
    long length = p - first;
    if (length < 1 || length > 15) return nullptr;
    int exponent = 0;
    if (*p == '.') {
      const char* const fraction = ++p;
      take_digits();
      exponent = -static_cast<int>(p - fraction);
      length -= exponent;
      if (length > 15 || exponent == 0) return nullptr;
    }
    if (*p == 'e' && (p[1] == '+' || p[1] == '-')) {
      const bool negative = p[1] == '-';
      p += 2;
      std::int64_t fault = 0;
      const auto power = static_cast<int>(digits(p, fault));
      if (fault < 0 || power > 99) return nullptr;
      exponent += negative ? -power : power;
    }
    if (*p != '\n' || exponent < -22 || exponent > 22) return nullptr;
    const double value = static_cast<double>(mantissa);
    op.amount = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
    return p + 1;
  }

  static constexpr double kPowers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

  std::uint64_t prefix_ = 0;
  std::uint64_t prefix_mask_ = 0;
  std::int64_t last_rank_;
  std::uint32_t prefix_length_ = 0;
  std::uint8_t default_width_ = kByteWidth;
  bool usable_ = true;
};

inline constexpr QuickLine::Words QuickLine::kWords{};

}  // namespace tisim
