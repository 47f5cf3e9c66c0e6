#include "trace/vocabulary/file_name.hpp"

#include <algorithm>
#include <cstddef>

namespace tisim {

namespace {

constexpr std::size_t kMostDigits = 19;

// What stands behind a `%`: how many characters, and how many digits of the rank they ask for.
struct Directive {
  std::size_t length = 0;  // 0: it is none
  std::size_t digits = 0;
  bool is_percent = false;
};

Directive directive_at(std::string_view text) {
  if (text.starts_with('%')) return {1, 0, true};
  if (text.starts_with('d')) return {1, 1, false};
  if (!text.starts_with('0')) return {};
  std::size_t digits = 0;
  std::size_t at = 1;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at < 4; ++at) {
    digits = 10 * digits + static_cast<std::size_t>(text[at] - '0');
  }
  if (at == text.size() || text[at] != 'd' || digits == 0 || digits > kMostDigits) return {};
  return {at + 1, digits, false};
}

}  // namespace

bool is_file_name(std::string_view name) {
  for (std::size_t at = name.find('%'); at != std::string_view::npos;) {
    const Directive directive = directive_at(name.substr(at + 1));
    if (directive.length == 0) return false;
    at = name.find('%', at + 1 + directive.length);
  }
  return !name.empty();
}

std::string file_name(std::string_view name, std::int32_t rank) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '%') {
      text += name[at];
      continue;
    }
    const Directive directive = directive_at(name.substr(at + 1));
    if (directive.is_percent) {
      text += '%';
    } else {
      const std::string number = std::to_string(rank);
      text.append(directive.digits - std::min(directive.digits, number.size()), '0') += number;
    }
    at += directive.length;
  }
  return text;
}

bool are_open_flags(std::string_view letters) {
  if (letters.find_first_not_of(kOpenFlags) != std::string_view::npos) return false;
  return letters.find_first_of("rwa") != std::string_view::npos;
}

}  // namespace tisim
