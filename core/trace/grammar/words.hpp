// The words of a line, and errors about them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim {

// The words of a line up to a comment.
void split_words(std::string_view line, std::vector<std::string_view>& words);

// The rank at the start of a line. Throws TraceError when the line does not begin with a number.
std::int64_t leading_rank(std::string_view line, const std::string& file, std::uint64_t number);

// A word of a trace as an error shows it: in quotes, without control bytes, shortened.
std::string quoted(std::string_view word);

// Throws a TraceError about a line. When the line holds bytes that no text has, the error is about
// them.
[[noreturn]] void fail_line(const std::string& file, std::uint64_t number, std::string_view line,
                            std::string message);

}  // namespace tisim
