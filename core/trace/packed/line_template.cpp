#include "trace/packed/line_template.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "trace/packed/format.hpp"
#include "trace/vocabulary/rank_arguments.hpp"

namespace tisim::packed {

namespace {

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

constexpr std::string_view kNames[] = {"comm=", "request=", "requests="};

// Appends a named argument as a template has it; false when the argument is none.
bool put_named(std::string_view argument, std::string& out) {
  for (std::uint64_t i = 0; i < std::size(kNames); ++i) {
    if (!argument.starts_with(kNames[i])) continue;
    std::vector<std::int64_t> values;
    for (std::size_t at = kNames[i].size(); at < argument.size();) {
      const std::size_t end = std::min(argument.find(',', at), argument.size());
      const auto value = plain_number(argument.substr(at, end - at));
      if (!value || end + 1 == argument.size()) return false;
      values.push_back(*value);
      at = end + 1;
    }
    put_varint(out, i);
    put_varint(out, values.size());
    for (const std::int64_t value : values) put_varint(out, zigzag(value));
    return true;
  }
  return false;
}

// The reverse.
bool append_named(ByteCursor& cursor, std::string& out) {
  const std::uint64_t name = cursor.varint();
  if (name >= std::size(kNames)) return false;
  out.append(" ").append(kNames[name]);
  const std::uint64_t values = cursor.varint();
  for (std::uint64_t i = 0; i < values && !cursor.failed(); ++i) {
    if (i > 0) out += ',';
    append_number(out, unzigzag(cursor.varint()));
  }
  return !cursor.failed();
}

std::string raw_template(std::string_view line) { return std::string(1, '\0').append(line); }

}  // namespace

int WordList::number(std::string_view word) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == word) return static_cast<int>(i);
  }
  if (words_.size() == kMostWords) return -1;
  words_.emplace_back(word);
  rank_arguments_.push_back(tisim::rank_arguments(vocabulary_.find(word)));
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
  std::string named;
  for (std::size_t at = 0; at < arguments.size();) {
    const std::size_t end = std::min(arguments.find(' ', at + 1), arguments.size());
    const std::string_view argument = arguments.substr(at + 1, end - at - 1);
    at = end;
    const auto value = plain_number(argument);
    if (value && named.empty()) {
      values.push_back(*value);
    } else if (value || !put_named(argument, named)) {
      return raw_template(line);
    }
  }
  const int word = words.number(line.substr(0, first));
  if (word < 0) return raw_template(line);
  const unsigned ranks = words.rank_arguments(word);
  std::string made;
  if (!named.empty()) put_varint(made, kNamed);
  put_varint(made, static_cast<std::uint64_t>(word) + 1);
  put_varint(made, 2 * values.size() + (blank_at_end ? 1 : 0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool relative = i < 8 && ((ranks >> i) & 1) != 0 && values[i] > 0;
    put_varint(made, 2 * zigzag(relative ? values[i] - rank : values[i]) + (relative ? 1 : 0));
  }
  return made + named;
}

bool append_line(std::string_view packed_line, std::int64_t rank,
                 const std::vector<std::string>& words, std::string& out) {
  ByteCursor cursor(packed_line);
  std::uint64_t word = cursor.varint();
  if (word == 0) {
    out.append(cursor.bytes(cursor.left()));
    return !cursor.failed();
  }
  const bool has_named = word == kNamed;
  if (has_named) word = cursor.varint();
  if (word == 0 || word > words.size()) return false;
  out += words[word - 1];
  const std::uint64_t header = cursor.varint();
  for (std::uint64_t i = 0; i < header / 2 && !cursor.failed(); ++i) {
    const std::uint64_t code = cursor.varint();
    out += ' ';
    append_number(out, unzigzag(code / 2) + ((code & 1) != 0 ? rank : 0));
  }
  while (has_named && cursor.left() > 0 && !cursor.failed()) {
    if (!append_named(cursor, out)) return false;
  }
  if ((header & 1) != 0) out += ' ';
  return cursor.done() && !cursor.failed();
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
