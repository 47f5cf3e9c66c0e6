// What a handle allows: the one place that says which calls on it are wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/vocabulary/table.hpp"

namespace tisim {

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

  // What is wrong with a call on it, for a message; empty: nothing.
  std::string fault(Operation call, std::int32_t number) const;
};

// Whether a call names its file by a handle.
bool has_handle(Operation call);

}  // namespace tisim
