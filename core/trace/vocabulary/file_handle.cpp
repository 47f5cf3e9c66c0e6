#include "trace/vocabulary/file_handle.hpp"

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
  const bool is_under_way = begun != Operation::barrier;
  const std::string step = std::string(name_of(Kind::file, begun));
  if (ends_split(call)) {
    const Operation whole = file_traits_of(call).part_of;
    if (begun == whole) return {};
    const std::string first = std::string(name_of(Kind::file, whole)) + "_begin";
    if (!is_under_way) return what + ", where no " + first + " is under way; it goes before";
    return what + ", where the " + step + "_begin of line " + std::to_string(begun_at) +
           " is under way; end that with " + step + "_end";
  }
  if (is_under_way && (file_traits_of(call).synchronises || does == Operation::close)) {
    return what + " while the " + step + "_begin of line " + std::to_string(begun_at) +
           " is under way; end it with " + step + "_end before";
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
