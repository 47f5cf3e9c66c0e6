#include "trace/tit/file/volume_code.hpp"

#include <cstddef>

namespace tisim::tit {

namespace {

constexpr std::uint64_t kMillion = 1000000;
// %g prints numbers from 10^6 on as d.ddddde+ee, without trailing zeros.
constexpr unsigned kShortDigits = 6;
constexpr std::uint64_t kMinMantissa = 100000;
constexpr std::uint64_t kMantissas = 900000;
constexpr unsigned kMinExponent = 6;
constexpr unsigned kMaxExponent = 15;
constexpr std::uint64_t kShortEnd = kMillion + (kMaxExponent - kMinExponent + 1) * kMantissas;

// Other numbers: a style in the upper bits, the digits in the lower ones.
constexpr unsigned kDigitBits = 50;
constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
constexpr std::size_t kMaxTextLength = 24;
constexpr unsigned kMaxDecimals = 15;
constexpr std::uint64_t kScientificStyles = 32;
constexpr std::uint64_t kExponents = 256;
constexpr int kExponentBias = 128;
constexpr std::uint64_t kStylesEnd = kScientificStyles + (kMaxDecimals + 1) * kExponents;
constexpr int kMaxPower = 22;  // 10^22 is the largest power of ten that is an exact double

constexpr std::uint64_t kCodesEnd = (kStylesEnd + 1) << kDigitBits;

constexpr double kPowersOfTen[kMaxPower + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A number as written: digits with a point before the last `decimals` of them.
struct WrittenNumber {
  std::uint64_t digits = 0;
  unsigned decimals = 0;
  bool scientific = false;
  int exponent = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The power of ten that scales the digits.
int power_of(const WrittenNumber& number) {
  return number.exponent - static_cast<int>(number.decimals);
}

bool parse_decimal(std::string_view text, WrittenNumber& number) {
  if (text.empty() || text.size() > kMaxTextLength) return false;
  std::size_t at = 0;
  bool has_digits = false;
  bool point = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !point && at > 0) {
      point = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    if (number.digits >= kDigits) return false;
    has_digits = true;
    number.digits = number.digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (point) ++number.decimals;
  }
  if (!has_digits || (point && number.decimals == 0)) return false;
  if (at == text.size()) return true;
  // "e+06": a sign and two or three digits.
  if (text[at] != 'e' || text.size() - at < 4 || text.size() - at > 5) return false;
  if (text[at + 1] != '+' && text[at + 1] != '-') return false;
  for (std::size_t i = at + 2; i < text.size(); ++i) {
    if (!is_digit(text[i])) return false;
    number.exponent = number.exponent * 10 + (text[i] - '0');
  }
  if (text[at + 1] == '-') number.exponent = -number.exponent;
  number.scientific = true;
  return true;
}

void append_padded(std::uint64_t value, std::size_t width, std::string& out) {
  const std::string text = std::to_string(value);
  if (text.size() < width) out.append(width - text.size(), '0');
  out += text;
}

void append_decimal(const WrittenNumber& number, std::string& out) {
  append_padded(number.digits, number.decimals + std::size_t{1}, out);
  if (number.decimals > 0) out.insert(out.size() - number.decimals, 1, '.');
  if (!number.scientific) return;
  out += number.exponent < 0 ? "e-" : "e+";
  append_padded(
      static_cast<std::uint64_t>(number.exponent < 0 ? -number.exponent : number.exponent), 2, out);
}

// The value of a code. The digits of a short one lose their trailing zeros.
WrittenNumber decimal_of(std::uint64_t code) {
  WrittenNumber number;
  if (code < kMillion) {
    number.digits = code;
    return number;
  }
  if (code < kShortEnd) {
    const std::uint64_t above = code - kMillion;
    number.scientific = true;
    number.exponent = static_cast<int>(above / kMantissas + kMinExponent);
    number.digits = above % kMantissas + kMinMantissa;
    number.decimals = kShortDigits - 1;
    for (; number.decimals > 0 && number.digits % 10 == 0; --number.decimals) number.digits /= 10;
    return number;
  }
  const std::uint64_t style = (code >> kDigitBits) - 1;
  number.digits = code & (kDigits - 1);
  if (style < kScientificStyles) {
    number.decimals = static_cast<unsigned>(style);
    return number;
  }
  number.scientific = true;
  number.decimals = static_cast<unsigned>((style - kScientificStyles) / kExponents);
  number.exponent = static_cast<int>((style - kScientificStyles) % kExponents) - kExponentBias;
  return number;
}

// A code for the value `number`, whatever its spelling; kNoVolumeCode if there is none.
std::uint64_t code_of(const WrittenNumber& number) {
  if (!number.scientific && number.decimals == 0 && number.digits < kMillion) return number.digits;
  const int power = power_of(number);
  if (number.digits >= kDigits || number.decimals > kMaxDecimals || power < -kMaxPower ||
      power > kMaxPower) {
    return kNoVolumeCode;
  }
  if (!number.scientific)
    return ((std::uint64_t{number.decimals} + 1) << kDigitBits) | number.digits;
  std::uint64_t mantissa = number.digits;
  unsigned decimals = number.decimals;
  for (; decimals < kShortDigits - 1; ++decimals) mantissa *= 10;
  if (decimals == kShortDigits - 1 && (number.decimals == 0 || number.digits % 10 != 0) &&
      number.exponent >= static_cast<int>(kMinExponent) &&
      number.exponent <= static_cast<int>(kMaxExponent) && mantissa >= kMinMantissa &&
      mantissa < kMinMantissa + kMantissas) {
    const auto exponent = static_cast<std::uint64_t>(number.exponent) - kMinExponent;
    return kMillion + exponent * kMantissas + (mantissa - kMinMantissa);
  }
  const std::uint64_t style = kScientificStyles + number.decimals * kExponents +
                              static_cast<std::uint64_t>(number.exponent + kExponentBias);
  return ((style + 1) << kDigitBits) | number.digits;
}

}  // namespace

std::uint64_t volume_code(std::string_view text) {
  // By far the most common form.
  if (!text.empty() && text.size() <= 6 && (text[0] != '0' || text.size() == 1)) {
    std::uint64_t value = 0;
    bool digits = true;
    for (const char c : text) {
      digits = digits && is_digit(c);
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (digits) return value;
  }
  WrittenNumber number;
  if (!parse_decimal(text, number)) return kNoVolumeCode;
  const std::uint64_t code = code_of(number);
  if (code == kNoVolumeCode) return code;
  std::string printed;
  append_volume(code, printed);
  return printed == text ? code : kNoVolumeCode;
}

bool is_volume_code(std::uint64_t code) {
  if (code < kShortEnd) return true;
  if (code < kDigits || code >= kCodesEnd) return false;
  return code_of(decimal_of(code)) == code;
}

void append_volume(std::uint64_t code, std::string& out) {
  if (code < kMillion) {
    out += std::to_string(code);
  } else {
    append_decimal(decimal_of(code), out);
  }
}

double volume_value(std::uint64_t code) {
  if (code < kMillion) return static_cast<double>(code);
  const WrittenNumber number = decimal_of(code);
  const int power = power_of(number);
  const auto digits = static_cast<double>(number.digits);
  return power < 0 ? digits / kPowersOfTen[-power] : digits * kPowersOfTen[power];
}

}  // namespace tisim::tit
