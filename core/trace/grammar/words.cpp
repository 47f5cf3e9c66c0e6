#include "trace/grammar/words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "trace/error.hpp"

namespace tisim {

namespace {

// Drops a leading '+'; false if the text is not a decimal number (inf, nan, 0x10, for example).
bool trim_sign(std::string_view& text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return false;
  }
  const std::size_t first = !text.empty() && text.front() == '-' ? 1 : 0;
  if (first >= text.size()) return false;
  const char c = text[first];
  return (c >= '0' && c <= '9') || c == '.';
}

}  // namespace

NumberFault read_real(std::string_view text, double& value) {
  if (!trim_sign(text)) return NumberFault::not_a_number;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || error == std::errc::invalid_argument) return NumberFault::not_a_number;
  if (error == std::errc::result_out_of_range) {
    // from_chars does not distinguish too small, which rounds to zero, from too large.
    if (text.find("e-") == text.npos && text.find("E-") == text.npos) return NumberFault::too_large;
    value = 0;
  }
  return NumberFault::none;
}

NumberFault read_whole(std::string_view text, std::int64_t& value) {
  if (!trim_sign(text)) return NumberFault::not_a_number;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped == end) {
    return error == std::errc{} ? NumberFault::none : NumberFault::too_large;
  }
  double real = 0;
  if (const NumberFault fault = read_real(text, real); fault != NumberFault::none) return fault;
  if (std::floor(real) != real) return NumberFault::not_whole;
  // 2^63 is not a 64-bit integer but a double.
  constexpr double kLimit = -static_cast<double>(std::numeric_limits<std::int64_t>::min());
  if (real >= kLimit || real < -kLimit) return NumberFault::too_large;
  value = static_cast<std::int64_t>(real);
  return NumberFault::none;
}

namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

constexpr std::size_t kMaxQuoteLength = 40;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r') || byte == 0x7f;
}

std::string hexadecimal(char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  const char* p = line.data();
  const char* const end = p + line.size();
  for (;;) {
    while (p != end && is_blank(*p)) ++p;
    const char* const start = p;
    while (p != end && !is_blank(*p) && *p != '#') ++p;
    if (p == start) return;  // the end, or a comment
    words.emplace_back(start, static_cast<std::size_t>(p - start));
  }
}

std::int64_t leading_rank(std::string_view line, const std::string& file, std::uint64_t number) {
  const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
  std::size_t end = start;
  std::int64_t rank = 0;
  for (; end < line.size() && line[end] >= '0' && line[end] <= '9'; ++end) {
    if (rank <= std::numeric_limits<std::int32_t>::max()) rank = rank * 10 + (line[end] - '0');
  }
  const bool ends =
      end == line.size() || line[end] == ' ' || line[end] == '\t' || line[end] == '\r';
  if (end == start || !ends) {
    const std::size_t stop = std::min(line.find_first_of(" \t\r", start), line.size());
    fail_line(file, number, line,
              "a line must start with the number of its rank, not with " +
                  quoted(line.substr(start, stop - start)));
  }
  if (rank > std::numeric_limits<std::int32_t>::max()) {
    fail_line(file, number, line, "this rank number is too large");
  }
  return rank;
}

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word.substr(0, kMaxQuoteLength)) {
    const bool plain = !is_control(c) && static_cast<unsigned char>(c) < 0x80;
    if (plain) {
      text += c;
    } else {
      text.append("\\").append(hexadecimal(c));
    }
  }
  return text + (word.size() > kMaxQuoteLength ? "...'" : "'");
}

void fail_line(const std::string& file, std::uint64_t number, std::string_view line,
               std::string message) {
  const auto rubbish = std::find_if(line.begin(), line.end(), is_control);
  if (rubbish != line.end()) {
    message = "is not text: the byte 0" + hexadecimal(*rubbish) + " at column " +
              std::to_string(rubbish - line.begin() + 1) +
              "; is this a trace, and was it copied completely?";
  }
  throw TraceError(file, number, std::move(message));
}

}  // namespace tisim
