#include "trace/packed/packed_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "trace/packed/packed_format.hpp"

namespace tisim::packed {

namespace {

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;  // up to here a double is exact

constexpr std::array<double, 16> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

unsigned ranks_behind(const Action* action) {
  if (action == nullptr) return 0;
  switch (action->form) {
    case Form::send:
    case Form::receive:
    case Form::probe:
      return 0b1;
    case Form::request:
    case Form::start:
      return 0b11;
    case Form::sendrecv:
      return 0b1010;
    default:
      return 0;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number of a text that is the only way in which that number is written here.
std::optional<std::int64_t> plain_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  const bool negative = !text.empty() && text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  if (digits.front() == '0' && (digits.size() > 1 || negative)) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

void append_number(std::string& out, std::int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string raw_template(std::string_view line) { return std::string(1, '\0').append(line); }

// Decimal text of `digits` with at least `width` digits.
std::string padded(std::uint64_t digits, std::size_t width) {
  std::string text = std::to_string(digits);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

}  // namespace

int WordList::number(std::string_view word) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == word) return static_cast<int>(i);
  }
  if (words_.size() == kMostWords) return -1;
  words_.emplace_back(word);
  rank_arguments_.push_back(ranks_behind(vocabulary_.find(word)));
  return static_cast<int>(words_.size()) - 1;
}

std::string make_template(std::string_view line, std::int64_t rank, WordList& words) {
  constexpr std::size_t kLongestWord = 32;
  const std::size_t first = std::min(line.find(' '), line.size());
  if (first == 0 || first > kLongestWord) return raw_template(line);
  const bool blank_at_end = first < line.size() && line.back() == ' ';
  const std::string_view arguments =
      line.substr(first, line.size() - first - (blank_at_end ? 1 : 0));
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at < arguments.size();) {
    const std::size_t end = std::min(arguments.find(' ', at + 1), arguments.size());
    const auto value = plain_number(arguments.substr(at + 1, end - at - 1));
    if (!value) return raw_template(line);
    values.push_back(*value);
    at = end;
  }
  const int word = words.number(line.substr(0, first));
  if (word < 0) return raw_template(line);
  const unsigned ranks = words.rank_arguments(word);
  std::string made;
  put_varint(made, static_cast<std::uint64_t>(word) + 1);
  put_varint(made, 2 * values.size() + (blank_at_end ? 1 : 0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool relative = i < 8 && ((ranks >> i) & 1) != 0 && values[i] > 0;
    put_varint(made, 2 * zigzag(relative ? values[i] - rank : values[i]) + (relative ? 1 : 0));
  }
  return made;
}

bool append_line(std::string_view packed_line, std::int64_t rank,
                 const std::vector<std::string>& words, std::string& out) {
  ByteCursor cursor(packed_line);
  const std::uint64_t word = cursor.varint();
  if (word == 0) {
    out.append(cursor.bytes(cursor.left()));
    return !cursor.failed();
  }
  if (word > words.size()) return false;
  out += words[word - 1];
  const std::uint64_t header = cursor.varint();
  for (std::uint64_t i = 0; i < header / 2 && !cursor.failed(); ++i) {
    const std::uint64_t code = cursor.varint();
    out += ' ';
    append_number(out, unzigzag(code / 2) + ((code & 1) != 0 ? rank : 0));
  }
  if ((header & 1) != 0) out += ' ';
  return cursor.done() && !cursor.failed();
}

Volume volume_of(std::string_view text) {
  constexpr std::size_t kLongest = 18;
  if (text.empty() || text.size() > kLongest) return {};
  const std::size_t mantissa_end = std::min(text.find('e'), text.size());
  const std::string_view mantissa = text.substr(0, mantissa_end);
  const std::size_t point = mantissa.find('.');
  Volume volume;
  for (std::size_t i = 0; i < mantissa.size(); ++i) {
    if (i == point) continue;
    if (!is_digit(mantissa[i])) return {};
    volume.digits = volume.digits * 10 + static_cast<std::uint64_t>(mantissa[i] - '0');
  }
  if (mantissa_end < text.size()) {
    // "e+06" to "e+11", two digits.
    const std::string_view exponent = text.substr(mantissa_end);
    if (exponent.size() != 4 || !is_digit(exponent[2]) || !is_digit(exponent[3])) return {};
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

std::string_view behind_first_word(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  line.remove_prefix(std::min(line.find_first_of(" \t\r"), line.size()));
  return line;
}

bool is_init(std::string_view line) {
  constexpr std::string_view kInit = "init";
  const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t\r#", start), line.size());
  if (end - start != kInit.size()) return false;
  for (std::size_t i = 0; i < kInit.size(); ++i) {
    if ((line[start + i] | 0x20) != kInit[i]) return false;
  }
  return true;
}

}  // namespace tisim::packed
