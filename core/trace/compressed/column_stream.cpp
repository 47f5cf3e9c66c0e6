#include "trace/compressed/column_stream.hpp"

#include <algorithm>
#include <cstring>

#include "tit/codec/crc32c.hpp"
#include "tit/codec/error.hpp"

namespace tisim {

ColumnStream::ColumnStream(const CompressedFile& file, ColumnPlace place)
    : file_(&file), offset_(place.offset), column_(place.column) {
  if (column_ == nullptr) return;
  for (const tit::Block& block : column_->blocks) capacity_ = std::max(capacity_, block.bytes);
}

void ColumnStream::read_ahead(const ProgramCall* calls, std::uint32_t count,
                              std::uint32_t first_site) {
  ahead_begin_ = 0;
  const bool is_checked = file_->volume_sites().may_exceed();
  std::uint32_t made = 0;
  if (values_left_ < count) {
    made = is_checked ? read_values<true, true>(calls, count, first_site)
                      : read_values<true, false>(calls, count, first_site);
  } else {
    made = is_checked ? read_values<false, true>(calls, count, first_site)
                      : read_values<false, false>(calls, count, first_site);
  }
  ahead_end_ = static_cast<std::uint8_t>(made);
}

// `kMayEnd`: the block may end before so many values. `kMayExceed`: a value may be none.
template <bool kMayEnd, bool kMayExceed>
std::uint32_t ColumnStream::read_values(const ProgramCall* calls, std::uint32_t count,
                                        std::uint32_t first_site) {
  const tit::VolumeSite* const sites = file_->volume_sites().data();
  tit::ColumnDecoder decoder = decoder_;
  std::uint64_t left = values_left_;
  std::uint32_t number = first_site;
  std::uint32_t made = 0;
  std::uint64_t largest = 0;
  while (number != tit::VolumeSites::kSpecial) {
    const tit::VolumeSite& site = sites[number];
    std::uint64_t value = site.value;
    if (site.buckets != nullptr) {
      if (kMayEnd && left == 0) break;
      --left;
      value = decoder.next_small(site.buckets, site.shift, site.slots);
    }
    if (kMayExceed) largest = std::max(largest, value);
    ahead_values_[made] = static_cast<std::uint32_t>(value);
    if (++made == count) break;
    number = calls[made].volume_site;
  }
  decoder_ = decoder;
  values_left_ = left;
  if (kMayExceed && largest >= file_->volume_sites().known()) file_->damaged("a volume is none");
  return made;
}

void ColumnStream::next_block() {
  if (block_ > 0 && !decoder_.finished()) file_->damaged("a block of values is too long");
  if (column_ == nullptr || block_ == column_->blocks.size()) {
    file_->damaged("the column of a rank ends too early");
  }
  const tit::Block& block = column_->blocks[block_++];
  if (!buffer_) buffer_ = std::make_unique<char[]>(capacity_);
  if (file_->file().read(offset_, buffer_.get(), block.bytes) != block.bytes ||
      tit::crc32c(buffer_.get(), block.bytes) != block.checksum) {
    file_->damaged("a block of values is not what was written");
  }
  if (block.values == 0) file_->damaged("a block has no values");
  offset_ += block.bytes;
  values_left_ = block.values;
  try {
    decoder_.start(buffer_.get(), buffer_.get() + block.bytes);
  } catch (const tit::FormatError& error) {
    file_->damaged(error.what());
  }
}

}  // namespace tisim
