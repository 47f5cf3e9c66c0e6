// The operations of one rank of a text trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "trace/grammar/line_parser.hpp"
#include "trace/pending_ops.hpp"
#include "trace/reader.hpp"
#include "trace/text/line_buffer.hpp"
#include "trace/text/quick_line.hpp"
#include "trace/trace_file.hpp"

namespace tisim {

// Reads common lines with QuickLine and leaves the others to LineParser.
class TextReader final : public RankReader {
 public:
  // `marked`: the file is part of a split one. `owner` keeps `grammar` and `file` alive; `calls`
  // must outlive the reader.
  TextReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar, std::int32_t rank,
             const TraceFile& file, bool marked, std::size_t buffer_size, CallTable& calls);

  std::size_t read(Op* out, std::size_t capacity) override;
  std::uint64_t bytes_read() const override {
    return lines_.position() - static_cast<std::uint64_t>(lines_.end() - next_);
  }
  std::string file() const override { return parser_.file(); }
  bool uses_mistaken_null() const override { return parser_.uses_mistaken_null(); }
  bool uses_lost_type() const override { return parser_.uses_lost_type(); }

 private:
  std::size_t read_quickly(Op* out, std::size_t capacity);
  std::size_t read_numbered(const char*& p, std::uint32_t line, Op* out, std::size_t capacity);
  std::size_t read_line(Op* out, std::size_t capacity);

  std::shared_ptr<const void> owner_;
  LineParser parser_;
  LineBuffer lines_;
  QuickLine quick_;
  PendingOps pending_;
  const char* next_ = nullptr;
  std::uint64_t line_ = 0;  // of the line before `next_`
  bool may_be_quick_;
  bool marked_;
};

}  // namespace tisim
