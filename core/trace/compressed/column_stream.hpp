// The values in the column of one rank, one after the other.
#pragma once

#include <cstdint>
#include <memory>

#include "tit/column/decoder.hpp"
#include "trace/compressed/file.hpp"

namespace tisim {

class ColumnStream {
 public:
  // `file` must outlive the stream.
  ColumnStream(const CompressedFile& file, ColumnPlace place);

  // The next value of a site that varies. Throws TraceError.
  std::uint64_t next(tit::DecodingTable model) {
    if (values_left_ == 0) next_block();
    --values_left_;
    return decoder_.next(model);
  }

  // For a loop that keeps the decoder to itself: as many values as are left of the block at hand
  // may be taken from it. Then it is given back, and says how many were taken.
  const tit::ColumnDecoder& decoder() const { return decoder_; }
  std::uint64_t values_left() const { return values_left_; }
  void give_back(const tit::ColumnDecoder& decoder, std::uint64_t values_left) {
    decoder_ = decoder;
    values_left_ = values_left;
  }

 private:
  void next_block();

  tit::ColumnDecoder decoder_;
  std::uint64_t values_left_ = 0;  // of the block at hand
  const CompressedFile* file_;
  std::uint64_t offset_ = 0;  // in the file, of the next block
  const tit::RankColumn* column_;
  std::unique_ptr<char[]> buffer_;
  std::uint64_t capacity_ = 0;
  std::size_t block_ = 0;  // the next one
};

}  // namespace tisim
