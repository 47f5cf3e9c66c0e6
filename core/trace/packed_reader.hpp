// The operations of one rank of a packed trace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/packed_blocks.hpp"
#include "trace/packed_file.hpp"
#include "trace/reader.hpp"

namespace tisim {

class PackedReader final : public RankReader {
 public:
  // `owner` keeps `grammar` and `file` alive; `calls` must outlive the reader.
  PackedReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar, std::int32_t rank,
               const PackedFile& file, std::size_t buffer_size, CallTable& calls);

  std::size_t read_next(Op* out, std::size_t capacity) override;
  std::uint64_t bytes_read() const override;

 private:
  bool next_block();
  std::size_t read_token(Op* out);
  std::size_t read_compute(unsigned token, Op* out);
  std::size_t parse(std::string_view line, Op* out);
  std::size_t take_slot(std::string_view line_template, Op* out);
  std::size_t from_slot(std::size_t slot, Op* out);
  std::uint64_t varint();
  std::string_view text();
  void step() { line_ += stride_; }

  const PackedFile* packed_;
  const PackedFile::Stream* stream_;
  std::string name_;
  PackedBlocks blocks_;
  const char* next_ = nullptr;  // of the payload at hand
  const char* end_ = nullptr;
  std::vector<Op> slots_;
  // The second operation of those slots whose lines make two.
  std::unordered_map<std::size_t, Op> second_of_slot_;
  std::size_t next_slot_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t stride_ = 1;
  std::string text_;  // of a line that is parsed
  bool has_pending_ = false;
  Op pending_;  // the second operation of a line when there was room for one
};

}  // namespace tisim
