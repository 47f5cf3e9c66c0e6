#include "trace/tit/file/shape.hpp"

#include <cstring>

#include "trace/tit/file/volume_code.hpp"

namespace tisim::tit {

namespace {

constexpr std::size_t kMaxDigits = 18;

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }
bool is_mark(char c) { return c >= 0 && c < kFirstPlain; }

bool begins_number(char before) {
  return before == ' ' || before == '\t' || before == '=' || before == ',';
}
bool ends_number(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == '#' || c == '\r' || c == '=';
}

void append_plain(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (is_mark(c)) out += static_cast<char>(kLiteralMark);
    out += c;
  }
}

std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && !ends_number(text[at])) ++at;
  return at;
}

// True if the text is the canonical form of its number.
bool read_plain_number(std::string_view text, std::int64_t& value) {
  const bool negative = !text.empty() && text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > kMaxDigits) return false;
  if (digits.front() == '0' && (digits.size() > 1 || negative)) return false;
  value = 0;
  for (const char c : digits) {
    if (!is_decimal_digit(c)) return false;
    value = value * 10 + (c - '0');
  }
  if (negative) value = -value;
  return true;
}

void append_number(std::int64_t value, std::string& out) { out += std::to_string(value); }

}  // namespace

Line line_of(std::string_view body) {
  constexpr std::string_view kCompute = "compute";
  Line line;
  const std::size_t action = end_of_word(body, 0);
  const bool is_compute = body.substr(0, action) == kCompute;
  append_plain(body.substr(0, action), line.shape);
  for (std::size_t at = action; at < body.size();) {
    const char before = body[at];
    append_plain(body.substr(at, 1), line.shape);
    const std::size_t end = end_of_word(body, ++at);
    const std::string_view word = body.substr(at, end - at);
    at = end;
    std::int64_t value = 0;
    if (word.empty()) continue;
    if (!begins_number(before)) {
      append_plain(word, line.shape);
      continue;
    }
    if (!is_compute && read_plain_number(word, value)) {
      line.shape += static_cast<char>(kNumberMark);
      line.numbers.push_back(value);
      continue;
    }
    const std::uint64_t code = volume_code(word);
    if (code != kNoVolumeCode) {
      line.shape += static_cast<char>(kVolumeMark);
      line.numbers.push_back(static_cast<std::int64_t>(code));
    } else {
      append_plain(word, line.shape);
    }
  }
  return line;
}

Line raw_line_of(std::string_view text) {
  Line line;
  line.shape += static_cast<char>(kNoRankMark);
  append_plain(text, line.shape);
  return line;
}

Line name_of(std::string_view name) {
  Line line;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && end - at < kMaxDigits && is_decimal_digit(name[end])) ++end;
    if (end == at) {
      append_plain(name.substr(at++, 1), line.shape);
      continue;
    }
    std::int64_t value = 0;
    for (const char c : name.substr(at, end - at)) value = value * 10 + (c - '0');
    if (name[at] == '0' && end - at > 1) {
      line.shape += static_cast<char>(kPaddedMark);
      line.shape += static_cast<char>(end - at);
    } else {
      line.shape += static_cast<char>(kNumberMark);
    }
    line.numbers.push_back(value);
    at = end;
  }
  return line;
}

std::vector<Hole> holes_of(std::string_view shape) {
  std::vector<Hole> holes;
  std::size_t word = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = shape[i];
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    const bool begins = !blank && !in_word;
    if (begins) ++word;
    in_word = !blank;
    if (c == kNumberMark || c == kVolumeMark || c == kStepMark || c == kPaddedMark) {
      holes.push_back({static_cast<Mark>(c), word - 1, begins});
    }
    if (c == kPaddedMark || c == kLiteralMark) ++i;
  }
  return holes;
}

std::string error_of_shape(std::string_view shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = shape[i];
    if (!is_mark(c)) continue;
    const bool is_last = i + 1 == shape.size();
    const bool is_only = is_last && i == 0;
    if (c == 0) return "a line has a byte 0 that is not marked";
    if (c == kNoRankMark && i != 0) return "a mark is misplaced";
    if (c == kStepMark && !is_last) return "a mark is misplaced";
    if (c == kSilentMark && !is_only) return "a mark is misplaced";
    if (c != kLiteralMark && c != kPaddedMark) continue;
    if (is_last) return "a line ends inside a mark";
    ++i;
    if (c == kPaddedMark && (shape[i] < 1 || shape[i] > static_cast<char>(kMaxDigits))) {
      return "a number has an impossible width";
    }
  }
  return "";
}

void append_text(std::string_view shape, const std::int64_t* numbers, std::string& out) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = shape[i];
    if (!is_mark(c)) {
      out += c;
      continue;
    }
    switch (c) {
      case kNumberMark:
        append_number(*numbers++, out);
        break;
      case kVolumeMark:
        append_volume(static_cast<std::uint64_t>(*numbers++), out);
        break;
      case kPaddedMark: {
        const std::string text = std::to_string(*numbers++);
        const auto width = static_cast<std::size_t>(shape[++i]);
        if (text.size() < width) out.append(width - text.size(), '0');
        out += text;
        break;
      }
      case kLiteralMark:
        out += shape[++i];
        break;
      default:
        break;
    }
  }
}

}  // namespace tisim::tit
