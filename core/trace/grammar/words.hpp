// Numbers of a trace: 12, -333, +5, 1e6, 1.59373e+06.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim {

enum class NumberFault : std::uint8_t { none, not_a_number, not_whole, too_large };

// Reads a whole number in any spelling (1e6 and 2.0 are whole).
NumberFault read_whole(std::string_view text, std::int64_t& value);

// Reads a finite number, correctly rounded.
NumberFault read_real(std::string_view text, double& value);

// The words of a line, and errors about them.

// Splits a line into words, up to a comment.
void split_words(std::string_view line, std::vector<std::string_view>& words);

// The rank at the start of a line. Throws TraceError if the line does not begin with a number.
std::int64_t leading_rank(std::string_view line, const std::string& file, std::uint64_t number);

// A word of a trace as shown in errors: in quotes, without control bytes, shortened.
std::string quoted(std::string_view word);

// Throws a TraceError about a line. If the line contains control bytes, the error is about them.
[[noreturn]] void fail_line(const std::string& file, std::uint64_t number, std::string_view line,
                            std::string message);

}  // namespace tisim
