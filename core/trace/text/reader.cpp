#include "trace/text/reader.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include "trace/vocabulary/datatype.hpp"

namespace tisim {

TextReader::TextReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar,
                       std::int32_t rank, const TraceFile& file, bool marked,
                       std::size_t buffer_size, CallTable& calls)
    : owner_(std::move(owner)),
      parser_(grammar, rank, file.name, calls),
      lines_(file, buffer_size),
      quick_(rank, grammar.ranks),
      may_be_quick_(grammar.dialect == Dialect::modern),
      marked_(marked) {}

std::size_t TextReader::read(Op* out, std::size_t capacity) {
  std::size_t made = pending_.take(out, capacity);
  while (made < capacity) {
    if (next_ == lines_.end()) {
      if (!lines_.refill()) break;
      next_ = lines_.begin();
    }
    made += read_quickly(out + made, capacity - made);
    if (made < capacity && next_ != lines_.end()) made += read_line(out + made, capacity - made);
  }
  return made;
}

// Reads lines up to the first one that QuickLine does not support.
std::size_t TextReader::read_quickly(Op* out, std::size_t capacity) {
  // Line numbers that do not fit an operation are left to the parser.
  if (!may_be_quick_ || line_ > std::numeric_limits<std::uint32_t>::max() - capacity) return 0;
  const char* p = next_;
  const char* const end = lines_.end();
  auto line = static_cast<std::uint32_t>(line_);
  std::size_t made = 0;
  while (made < capacity && p != end) {
    const char* const behind = quick_.parse(p, out[made]);
    if (behind == nullptr) {
      const std::size_t more = read_numbered(p, line + 1, out + made, capacity - made);
      if (more == 0) break;
      ++line;
      made += more;
      continue;
    }
    out[made++].line = ++line;
    p = behind;
  }
  line_ += line - static_cast<std::uint32_t>(line_);
  next_ = p;
  return made;
}

// Reads a line at `p` whose request has a number, and moves `p` past it; returns 0 for other lines.
std::size_t TextReader::read_numbered(const char*& p, std::uint32_t line, Op* out,
                                      std::size_t capacity) {
  Op ops[2];
  std::size_t made = 0;
  const char* const behind = quick_.parse_numbered(p, ops, made);
  if (behind == nullptr) return 0;
  p = behind;
  ops[0].line = line;
  ops[1].line = line;
  return pending_.put(ops, made, out, capacity);
}

std::size_t TextReader::read_line(Op* out, std::size_t capacity) {
  const std::string_view line = LineBuffer::line_at(next_, lines_.end());
  next_ += line.size() + 1;
  if (marked_ && !line.empty() && line.front() == kLineMark) {
    std::from_chars(line.data() + 1, line.data() + line.size(), line_);
    --line_;
    return 0;
  }
  ++line_;
  Op ops[LineParser::kMaxOps];
  const bool cut = lines_.is_cut(line.data() + line.size());
  const std::size_t made = parser_.parse(line, line_, cut, ops);
  quick_.set_default_width(parser_.double_default() ? kDoubleWidth : kByteWidth);
  return pending_.put(ops, made, out, capacity);
}

}  // namespace tisim
