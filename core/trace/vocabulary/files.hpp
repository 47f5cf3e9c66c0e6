// Files in traces: their names and handles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/vocabulary/table.hpp"

namespace tisim {

// State of a handle: the only place that decides which calls on it are invalid.

// A rank's number for a file from `open` to `close`.
struct Handle {
  std::uint32_t opened = 0;  // line
  std::uint32_t closed = 0;  // line of the last close; 0: none
  bool is_open = false;
  bool reads = false;
  bool writes = false;
  bool appends = false;
  Operation begun = Operation::barrier;  // split collective call in progress; barrier: none
  std::uint32_t begun_at = 0;            // line of its first step

  void open(std::string_view flags, std::uint32_t line);
  void close(std::uint32_t line);

  // Applies a step of a split collective call.
  void step(Operation call, std::uint32_t line);

  // The error of a call on it, for a message; empty if valid.
  std::string error_of(Operation call, std::int32_t number) const;
};

// True if a call names its file by a handle.
bool has_handle(Operation call);

// File names and open flags in traces.

// `%d` in a name stands for the rank's number in the world, `%0Nd` for the same with at least N
// digits, and `%%` for a `%`: so one name covers the files of all ranks.
bool is_file_name(std::string_view name);
// Expands such a name for a rank.
std::string file_name(std::string_view name, std::int32_t rank);

// Letters of the flags of `open`: read, write, create, truncate, append, exclusive.
inline constexpr std::string_view kOpenFlags = "rwctax";
inline constexpr std::string_view kDefaultOpenFlags = "r";
bool are_open_flags(std::string_view letters);

inline constexpr std::int64_t kUnknownSize = -1;  // of an opened file

}  // namespace tisim
