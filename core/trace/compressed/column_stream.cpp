#include "trace/compressed/column_stream.hpp"

#include <algorithm>
#include <cstring>

#include "tit/codec/crc32c.hpp"

namespace tisim {

ColumnStream::ColumnStream(const CompressedFile& file, ColumnPlace place)
    : file_(&file), offset_(place.offset), column_(place.column) {
  if (column_ == nullptr) return;
  for (const tit::Block& block : column_->blocks) capacity_ = std::max(capacity_, block.bytes);
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
  decoder_.start(buffer_.get(), buffer_.get() + block.bytes);
}

}  // namespace tisim
