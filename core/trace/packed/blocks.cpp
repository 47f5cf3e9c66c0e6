#include "trace/packed/blocks.hpp"

#include <algorithm>
#include <cstring>

#include "trace/packed/byte_codec.hpp"
#include "trace/packed/format.hpp"
#include "trace/tit/codec/crc32c.hpp"

namespace tisim {

namespace {

constexpr std::size_t kLongestHead = 10 + 4;  // a varint and a checksum
// A payload ends with the line that makes it full, and that may be long.
constexpr std::uint64_t kLongestPayload = std::uint64_t{128} << 20;

}  // namespace

bool PackedBlocks::next(std::string_view& payload) {
  if (taken_ == bytes_end_ && position_ == end()) return false;
  fill(kLongestHead);
  ByteCursor head({data_.get() + taken_, bytes_end_ - taken_});
  const std::uint64_t size = head.varint();
  const auto checksum = head.fixed<std::uint32_t>();
  const auto head_size = static_cast<std::size_t>(head.position() - (data_.get() + taken_));
  if (head.failed() || size > kLongestPayload ||
      !fill(head_size + static_cast<std::size_t>(size))) {
    file_->damaged("a block goes on beyond its stream");
  }
  payload = {data_.get() + taken_ + head_size, static_cast<std::size_t>(size)};
  if (tit::crc32c(payload.data(), payload.size()) != checksum) {
    file_->damaged("a block is not what was written");
  }
  taken_ += static_cast<std::uint32_t>(head_size + payload.size());
  return true;
}

// Gets `least` bytes into the buffer, behind what is taken; false when the stream has no more.
bool PackedBlocks::fill(std::size_t least) {
  const std::size_t here = bytes_end_ - taken_;
  if (here >= least || position_ == end()) return here >= least;
  const std::uint64_t left = end() - position_;
  const std::size_t wanted = static_cast<std::size_t>(
      std::min<std::uint64_t>(std::max<std::size_t>(least, usual_size_), here + left));
  if (wanted > capacity_ || (capacity_ > usual_size_ && wanted <= usual_size_)) {
    auto fresh = std::make_unique_for_overwrite<char[]>(wanted + kPadding);
    if (here > 0) std::memcpy(fresh.get(), data_.get() + taken_, here);
    data_ = std::move(fresh);
    capacity_ = static_cast<std::uint32_t>(wanted);
  } else {
    std::memmove(data_.get(), data_.get() + taken_, here);
  }
  taken_ = 0;
  const std::uint64_t room = std::min<std::uint64_t>(capacity_ - here, left);
  const std::size_t got =
      file_->file().read(position_, data_.get() + here, static_cast<std::size_t>(room));
  position_ += got;
  bytes_end_ = static_cast<std::uint32_t>(here + got);
  std::memset(data_.get() + bytes_end_, 0, kPadding);
  if (got == 0) file_->damaged("it has become shorter");
  return bytes_end_ >= least;
}

}  // namespace tisim
