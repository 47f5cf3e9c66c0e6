// The operations of one rank of a packed trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/stack.hpp"
#include "trace/grammar/line_parser.hpp"
#include "trace/left_over_op.hpp"
#include "trace/packed/blocks.hpp"
#include "trace/packed/file.hpp"
#include "trace/reader.hpp"

namespace tisim {

class PackedReader final : public RankReader {
 public:
  // `owner` keeps `grammar` and `file` alive; `calls` must outlive the reader.
  PackedReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar, std::int32_t rank,
               const PackedFile& file, std::size_t buffer_size, CallTable& calls);

  std::size_t read(Op* out, std::size_t capacity) override;
  std::uint64_t bytes_read() const override;
  std::string file() const override { return packed().display_name(stream()); }
  bool uses_mistaken_null() const override { return parser_.uses_mistaken_null(); }
  bool uses_lost_type() const override { return parser_.uses_lost_type(); }

 private:
  bool next_block();
  std::size_t read_token(Op* out);
  std::size_t read_compute(unsigned token, Op* out);
  std::size_t parse(std::string_view line, Op* out);
  std::size_t take_slot(std::string_view line_template, Op* out);
  void fill_slot(std::size_t slot, const Op* ops, std::size_t count);
  std::size_t from_slot(std::size_t slot, Op* out);
  void clear_slots();
  std::uint64_t varint();
  std::string_view text();
  void step() { line_ += stride_; }
  const PackedFile& packed() const { return blocks_.file(); }
  const PackedFile::Stream& stream() const { return blocks_.stream(); }

  std::shared_ptr<const void> owner_;
  LineParser parser_;
  PackedBlocks blocks_;
  LeftOverOps left_over_;
  const char* next_ = nullptr;  // of the payload at hand
  const char* end_ = nullptr;
  // In place of its line a slot has the number of its place in `seconds_` plus 1, once it had one.
  Stack<Op> slots_;
  Stack<Op> seconds_;  // of the slots whose lines make two operations
  // What follows the first of more than two, by slot; those have kInLonger for their place.
  std::unique_ptr<std::map<std::size_t, std::vector<Op>>> longer_;
  std::uint64_t line_ = 0;
  std::uint64_t stride_ = 1;
  std::uint32_t next_slot_ = 0;
};
static_assert(sizeof(PackedReader) <= 200);  // there may be a million of them

}  // namespace tisim
