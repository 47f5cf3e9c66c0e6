// Reads the values in the column of one rank one after the other.
#pragma once

#include <cstdint>
#include <memory>

#include "trace/packed/file.hpp"
#include "trace/tit/column/column_coder.hpp"

namespace tisim {

class ColumnStream {
 public:
  // `file` must outlive the stream.
  ColumnStream(const PackedFile& file, ColumnLocation column);

  // The next value of a varying site. Throws TraceError.
  std::uint64_t next(tit::DecodingTable model) {
    if (values_left_ == 0) next_block();
    --values_left_;
    return decoder_.next(model);
  }

  static constexpr std::uint32_t kMaxAhead = 32;

  // Reads ahead the values before these calls, at most kMaxAhead, starting at `first_site`: one
  // per call, whether its site varies or not. Stops at special sites and at the end of the current
  // block. Requires that no values are ahead.
  void read_ahead(const ProgramCall* calls, std::uint32_t count, std::uint32_t first_site);
  // Number of values read ahead.
  std::uint32_t ahead() const { return ahead_end_ - ahead_begin_; }
  const std::uint32_t* values_ahead() const { return ahead_values_ + ahead_begin_; }
  void take_ahead(std::uint32_t values) {
    ahead_begin_ = static_cast<std::uint8_t>(ahead_begin_ + values);
  }

 private:
  using Words = tit::DecoderState::Words;
  template <Words kWords>
  std::uint32_t read_values(const ProgramCall* calls, std::uint32_t count,
                            std::uint32_t first_site);
  template <Words kWords, bool kMayExceed>
  std::uint32_t read_values(const ProgramCall* calls, std::uint32_t count,
                            std::uint32_t first_site);
  void next_block();

  tit::ColumnDecoder decoder_;
  std::uint64_t values_left_ = 0;  // of the current block
  const PackedFile* file_;
  std::uint64_t offset_ = 0;  // file offset of the next block
  const tit::RankColumn* column_;
  std::unique_ptr<char[]> buffer_;
  std::uint64_t capacity_ = 0;
  std::size_t block_ = 0;  // index of the next one
  std::uint32_t ahead_values_[kMaxAhead];
  std::uint8_t ahead_begin_ = 0;  // those before it have been taken
  std::uint8_t ahead_end_ = 0;
};

}  // namespace tisim
