#include "trace/grammar/words.hpp"

#include <algorithm>
#include <limits>

#include "trace/error.hpp"

namespace tisim {

namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

constexpr std::size_t kLongestQuote = 40;

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
              "a line starts with the number of its rank, not with " +
                  quoted(line.substr(start, stop - start)));
  }
  if (rank > std::numeric_limits<std::int32_t>::max()) {
    fail_line(file, number, line, "a rank number this large cannot be");
  }
  return rank;
}

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word.substr(0, kLongestQuote)) {
    const bool plain = !is_control(c) && static_cast<unsigned char>(c) < 0x80;
    if (plain) {
      text += c;
    } else {
      text.append("\\").append(hexadecimal(c));
    }
  }
  return text + (word.size() > kLongestQuote ? "...'" : "'");
}

void fail_line(const std::string& file, std::uint64_t number, std::string_view line,
               std::string message) {
  const auto rubbish = std::find_if(line.begin(), line.end(), is_control);
  if (rubbish != line.end()) {
    message = "is no text: the byte 0" + hexadecimal(*rubbish) + " at column " +
              std::to_string(rubbish - line.begin() + 1) +
              "; is this a trace, and has it been copied whole?";
  }
  throw TraceError(file, number, std::move(message));
}

}  // namespace tisim
