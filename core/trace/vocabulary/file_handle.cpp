#include "trace/vocabulary/file_handle.hpp"

namespace tisim {

void Handle::open(std::string_view flags, std::uint32_t line) {
  const auto has = [flags](char letter) { return flags.find(letter) != std::string_view::npos; };
  opened = line;
  is_open = true;
  reads = has('r');
  appends = has('a');
  writes = has('w') || appends;
}

void Handle::close(std::uint32_t line) {
  closed = line;
  is_open = false;
}

std::string Handle::fault(Operation call, std::int32_t number) const {
  const std::string handle = "handle " + std::to_string(number);
  const auto opener = [this] { return "line " + std::to_string(opened); };
  const Operation does = own_part_of(call);
  if (does == Operation::open) {
    if (!is_open) return {};
    return "opens " + handle + ", which is open since " + opener() + "; close it first";
  }
  const std::string what = std::string(name_of(Kind::file, call)) + " of " + handle;
  if (!is_open) {
    if (closed == 0) return what + ", which no line has opened; an open goes before";
    return what + ", which line " + std::to_string(closed) + " has closed; open it again";
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

}  // namespace tisim
