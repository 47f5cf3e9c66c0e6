// How a trace names and opens files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tisim {

// `%d` in a name stands for the number of the rank in its world, `%0Nd` for N digits of it or more,
// and `%%` for a `%`: so one name stands for the files of all ranks.
bool is_file_name(std::string_view name);
// What such a name is on a rank.
std::string file_name(std::string_view name, std::int32_t rank);

// Letters of the flags of `open`: read, write, create, truncate, append, exclusive.
inline constexpr std::string_view kOpenFlags = "rwctax";
inline constexpr std::string_view kDefaultOpenFlags = "r";
bool are_open_flags(std::string_view letters);

inline constexpr std::int64_t kUnknownSize = -1;  // of a file that is opened

}  // namespace tisim
