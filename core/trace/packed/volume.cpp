#include "trace/packed/volume.hpp"

#include <algorithm>
#include <array>

#include "trace/packed/byte_codec.hpp"
#include "trace/packed/format.hpp"

namespace tisim::packed {

namespace {

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;  // up to here a double is exact

constexpr std::array<double, 16> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// Decimal text of `digits` with at least `width` digits.
std::string padded(std::uint64_t digits, std::size_t width) {
  std::string text = std::to_string(digits);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

}  // namespace

Volume volume_of(std::string_view text) {
  constexpr std::size_t kLongest = 18;
  if (text.empty() || text.size() > kLongest) return {};
  const std::size_t mantissa_end = std::min(text.find('e'), text.size());
  const std::string_view mantissa = text.substr(0, mantissa_end);
  const std::size_t point = mantissa.find('.');
  Volume volume;
  for (std::size_t i = 0; i < mantissa.size(); ++i) {
    if (i == point) continue;
    if (!is_decimal_digit(mantissa[i])) return {};
    volume.digits = volume.digits * 10 + static_cast<std::uint64_t>(mantissa[i] - '0');
  }
  if (mantissa_end < text.size()) {
    // "e+06" to "e+11", two digits.
    const std::string_view exponent = text.substr(mantissa_end);
    if (exponent.size() != 4 || !is_decimal_digit(exponent[2]) || !is_decimal_digit(exponent[3]))
      return {};
    volume.form = Volume::scientific;
    volume.places = static_cast<std::uint8_t>(10 * (exponent[2] - '0') + exponent[3] - '0');
    if (volume.places < kLeastExponent || volume.places > kMostExponent) return {};
  } else if (point != std::string_view::npos) {
    volume.form = Volume::decimal;
    volume.places = static_cast<std::uint8_t>(mantissa.size() - point - 1);
  } else {
    volume.form = Volume::whole;
  }
  if (!has_value(volume)) return {};
  // What is not written just as it would be printed is kept as a text.
  std::string printed;
  append_volume(volume, printed);
  return printed == text ? volume : Volume{};
}

void append_volume(const Volume& volume, std::string& out) {
  switch (volume.form) {
    case Volume::whole:
      out += std::to_string(volume.digits);
      break;
    case Volume::decimal: {
      std::string digits = padded(volume.digits, volume.places + std::size_t{1});
      digits.insert(digits.size() - volume.places, 1, '.');
      out += digits;
      break;
    }
    case Volume::scientific: {
      std::string digits = std::to_string(volume.digits);
      if (digits.size() > 1) digits.insert(1, 1, '.');
      out.append(digits).append("e+").append(padded(volume.places, 2));
      break;
    }
    case Volume::text:
      break;
  }
}

bool has_value(const Volume& volume) {
  return volume.form != Volume::text && volume.digits <= kExact && volume.places < kPowers.size();
}

double value_of(const Volume& volume) {
  const auto digits = static_cast<double>(volume.digits);
  if (volume.form == Volume::decimal) return digits / kPowers[volume.places];
  if (volume.form == Volume::whole) return digits;
  int exponent = volume.places;
  for (std::uint64_t power = 10; power <= volume.digits; power *= 10) --exponent;
  return exponent < 0 ? digits / kPowers[static_cast<std::size_t>(-exponent)]
                      : digits * kPowers[static_cast<std::size_t>(exponent)];
}

bool take_volume(unsigned token, std::string_view& bytes, Volume& volume) {
  ByteCursor cursor(bytes);
  if (token >= kShort && token < kNear) {
    volume.form = Volume::whole;
    volume.digits = ((token - kShort) << 16) | cursor.fixed<std::uint16_t>();
  } else if (token == kWhole) {
    volume.form = Volume::whole;
    volume.digits = cursor.varint();
  } else if (token == kDecimal) {
    volume.form = Volume::decimal;
    volume.digits = cursor.varint();
    volume.places = cursor.byte();
  } else if (token >= kScientific && token < kText) {
    volume.form = Volume::scientific;
    volume.digits = cursor.varint();
    volume.places = static_cast<std::uint8_t>(token - kScientific + kLeastExponent);
  }
  bytes.remove_prefix(bytes.size() - cursor.left());
  return has_value(volume) && !cursor.failed();
}

void put_volume(const Volume& volume, std::string& out) {
  switch (volume.form) {
    case Volume::whole:
      if (volume.digits < (std::uint64_t{kNear - kShort} << 16)) {
        out += static_cast<char>(kShort + (volume.digits >> 16));
        put_fixed(out, static_cast<std::uint16_t>(volume.digits));
      } else {
        out += static_cast<char>(kWhole);
        put_varint(out, volume.digits);
      }
      break;
    case Volume::decimal:
      out += static_cast<char>(kDecimal);
      put_varint(out, volume.digits);
      out += static_cast<char>(volume.places);
      break;
    case Volume::scientific:
      out += static_cast<char>(kScientific + volume.places - kLeastExponent);
      put_varint(out, volume.digits);
      break;
    case Volume::text:
      out += static_cast<char>(kText);
      break;
  }
}

}  // namespace tisim::packed
