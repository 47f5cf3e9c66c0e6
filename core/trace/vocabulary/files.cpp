#include "trace/vocabulary/files.hpp"

#include <algorithm>
#include <cstddef>

namespace tisim {

void Handle::open(std::string_view flags, std::uint32_t line) {
  const auto has = [flags](char letter) { return flags.find(letter) != std::string_view::npos; };
  opened = line;
  is_open = true;
  begun = Operation::barrier;
  reads = has('r');
  appends = has('a');
  writes = has('w') || appends;
}

void Handle::close(std::uint32_t line) {
  closed = line;
  is_open = false;
}

void Handle::step(Operation call, std::uint32_t line) {
  begun = begins_split(call) ? file_traits_of(call).part_of : Operation::barrier;
  begun_at = line;
}

std::string Handle::error_of(Operation call, std::int32_t number) const {
  const std::string handle = "handle " + std::to_string(number);
  const auto opener = [this] { return "line " + std::to_string(opened); };
  const Operation does = posix_equivalent(call);
  if (does == Operation::open) {
    if (!is_open) return {};
    return "opens " + handle + ", which has been open since " + opener() + "; close it first";
  }
  const std::string what = std::string(name_of(Kind::file, call)) + " of " + handle;
  if (!is_open) {
    if (closed == 0) return what + ", which no line opened; an open must come first";
    return what + ", which line " + std::to_string(closed) + " closed; open it again";
  }
  const bool is_under_way = begun != Operation::barrier;
  const std::string step = std::string(name_of(Kind::file, begun));
  if (ends_split(call)) {
    const Operation whole = file_traits_of(call).part_of;
    if (begun == whole) return {};
    const std::string first = std::string(name_of(Kind::file, whole)) + "_begin";
    if (!is_under_way) return what + ", where no " + first + " is in progress; it must come first";
    return what + ", where the " + step + "_begin of line " + std::to_string(begun_at) +
           " is in progress; end it with " + step + "_end";
  }
  if (is_under_way && (file_traits_of(call).synchronises || does == Operation::close)) {
    return what + " while the " + step + "_begin of line " + std::to_string(begun_at) +
           " is in progress; first end it with " + step + "_end";
  }
  const bool is_read = does == Operation::read || does == Operation::pread;
  const bool is_write = does == Operation::write || does == Operation::pwrite;
  if (is_read && !reads) return what + ", which " + opener() + " opens without the flag r";
  if (is_write && !writes) return what + ", which " + opener() + " opens without the flag w";
  return {};
}

bool has_handle(Operation call) {
  return call != Operation::stat && call != Operation::unlink && call != Operation::mkdir;
}

namespace {

constexpr std::size_t kMaxDigits = 19;

// The directive after a `%`: its length, and the minimum number of digits of the rank.
struct Directive {
  std::size_t length = 0;  // 0: not a directive
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
  if (at == text.size() || text[at] != 'd' || digits == 0 || digits > kMaxDigits) return {};
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
