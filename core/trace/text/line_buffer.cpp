#include "trace/text/line_buffer.hpp"

#include <cstring>

#include "trace/error.hpp"

namespace tisim {

bool LineBuffer::refill() {
  while (!at_end_) {
    make_room();
    const std::size_t scanned = bytes_end_;
    const std::size_t room = capacity_ - bytes_end_;
    const std::size_t got = file_->read(position_, data_.get() + bytes_end_, room);
    position_ += got;
    bytes_end_ += got;
    at_end_ = got < room;
    if (at_end_ && bytes_end_ > 0 && data_[bytes_end_ - 1] != '\n') {
      data_[bytes_end_++] = '\n';  // make_room() reserves a byte for it
      newline_added_ = true;
    }
    std::memset(data_.get() + bytes_end_, 0, kPadding);
    if (take_lines(scanned)) return true;
    if (bytes_end_ > kMaxLineBytes) {
      throw TraceError(file_->name, 0, "has a line of more than 64 MB; is it a trace?");
    }
  }
  return false;
}

// Moves the incomplete line to the front of a buffer with room after it.
void LineBuffer::make_room() {
  const std::size_t kept = bytes_end_ - lines_end_;
  const std::size_t wanted = kept < usual_size_ ? usual_size_ : 2 * kept;
  if (data_ && wanted == capacity_) {
    std::memmove(data_.get(), data_.get() + lines_end_, kept);
  } else {
    auto fresh = std::make_unique_for_overwrite<char[]>(wanted + 1 + kPadding);
    if (kept > 0) std::memcpy(fresh.get(), data_.get() + lines_end_, kept);
    data_ = std::move(fresh);
    capacity_ = wanted;
  }
  lines_end_ = 0;
  bytes_end_ = kept;
}

// Sets the end of the complete lines, searching from the last byte back to `scanned`.
bool LineBuffer::take_lines(std::size_t scanned) {
  for (std::size_t at = bytes_end_; at > scanned; --at) {
    if (data_[at - 1] == '\n') {
      lines_end_ = at;
      return true;
    }
  }
  return false;
}

std::string_view LineBuffer::line_at(const char* p, const char* end) {
  const auto* const newline =
      static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
  return {p, static_cast<std::size_t>((newline == nullptr ? end : newline) - p)};
}

}  // namespace tisim
