#include "trace/grammar/number.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace tisim {

namespace {

// Drops a leading '+'; false for what is no decimal number, such as inf, nan and 0x10.
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
    // from_chars does not tell too small, which is as good as zero, from too large.
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
  // 2^63, which is not itself a 64-bit number, is a double.
  constexpr double kLimit = -static_cast<double>(std::numeric_limits<std::int64_t>::min());
  if (real >= kLimit || real < -kLimit) return NumberFault::too_large;
  value = static_cast<std::int64_t>(real);
  return NumberFault::none;
}

}  // namespace tisim
