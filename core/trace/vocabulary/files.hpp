// Files in traces: their names and handles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/vocabulary/table.hpp"

namespace tisim {

// The permissions of a handle: the one place that says which calls on it are wrong.

// A number by which a rank names a file from `open` to `close`.
struct Handle {
  std::uint32_t opened = 0;  // line
  std::uint32_t closed = 0;  // line of the last close, 0: none
  bool is_open = false;
  bool reads = false;
  bool writes = false;
  bool appends = false;
  Operation begun = Operation::barrier;  // a split collective call that is under way; none
  std::uint32_t begun_at = 0;            // line of its first step

  void open(std::string_view flags, std::uint32_t line);
  void close(std::uint32_t line);

  // A step of a split collective call.
  void step(Operation call, std::uint32_t line);

  // The error of a call on it, for a message; empty: none.
  std::string fault(Operation call, std::int32_t number) const;
};

// True if a call names its file by a handle.
bool has_handle(Operation call);

// How a trace names and opens files.

// `%d` in a name stands for the number of the rank in its world, `%0Nd` for N digits of it or more,
// and `%%` for a `%`: so one name stands for the files of all ranks.
bool is_file_name(std::string_view name);
// The meaning of such a name on a rank.
std::string file_name(std::string_view name, std::int32_t rank);

// Letters of the flags of `open`: read, write, create, truncate, append, exclusive.
inline constexpr std::string_view kOpenFlags = "rwctax";
inline constexpr std::string_view kDefaultOpenFlags = "r";
bool are_open_flags(std::string_view letters);

inline constexpr std::int64_t kUnknownSize = -1;  // of a file that is opened

}  // namespace tisim
