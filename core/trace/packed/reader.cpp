#include "trace/packed/reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "trace/error.hpp"
#include "trace/packed/format.hpp"
#include "trace/packed/line_template.hpp"
#include "trace/packed/volume.hpp"

namespace tisim {

using namespace packed;

namespace {

// In a slot only: its line makes a second operation.
constexpr std::uint8_t kHasSecond = 0x80;
constexpr std::uint32_t kInLonger = std::numeric_limits<std::uint32_t>::max();

std::uint32_t line_number(std::uint64_t line) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(line, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

PackedReader::PackedReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar,
                           std::int32_t rank, const PackedFile& file, std::size_t buffer_size,
                           CallTable& calls)
    : owner_(std::move(owner)),
      parser_(grammar, rank, file.file().name, calls),
      blocks_(file, file.stream_of(rank), buffer_size) {}

std::uint64_t PackedReader::bytes_read() const {
  return stream().size - blocks_.bytes_left() - static_cast<std::uint64_t>(end_ - next_);
}

std::size_t PackedReader::read(Op* out, std::size_t capacity) {
  std::size_t made = left_over_.take(out, capacity);
  while (made < capacity) {
    if (next_ == end_ && !next_block()) break;
    const auto token = static_cast<std::uint8_t>(*next_);
    if (token >= kNear && token - std::size_t{kNear} < slots_.size()) {
      const Op& op = slots_[token - std::size_t{kNear}];
      if ((op.flags & kHasSecond) == 0) {
        ++next_;
        step();
        out[made] = op;
        out[made++].line = line_number(line_);
        continue;
      }
    }
    Op ops[LineParser::kMostOps];
    const std::size_t more = read_token(ops);
    made += left_over_.put(ops, more, out + made, capacity - made);
  }
  return made;
}

bool PackedReader::next_block() {
  std::string_view payload;
  if (!blocks_.next(payload)) return false;
  next_ = payload.data();
  end_ = next_ + payload.size();
  return next_ != end_ || next_block();
}

// Reads what one token stands for; the number of its operations.
std::size_t PackedReader::read_token(Op* out) {
  const auto token = static_cast<std::uint8_t>(*next_++);
  if (token >= kNear) return from_slot(token - std::size_t{kNear}, out);
  switch (token) {
    case kJump:
      // The step that every line takes is part of the jump.
      line_ += varint() - stride_;
      return 0;
    case kStride:
      stride_ = varint();
      return 0;
    case kFar:
      return from_slot(kNearSlots + static_cast<std::size_t>(varint()), out);
    case kNew:
      return take_slot(text(), out);
    case kImport: {
      const std::uint64_t number = varint();
      if (number >= packed().dictionary().size()) packed().damaged("it lacks a template");
      return take_slot(packed().dictionary()[number], out);
    }
    case kRaw: {
      const std::string_view line = text();
      if (is_init(behind_first_word(line))) clear_slots();
      step();
      return parse(line, out);
    }
    default:
      step();
      return read_compute(token, out);
  }
}

std::size_t PackedReader::read_compute(unsigned token, Op* out) {
  if (token == kText) {
    std::string& line = parser_.calls().scratch().text;
    line.assign(std::to_string(stream().rank)).append(" compute ").append(text());
    return parse(line, out);
  }
  std::string_view rest(next_, static_cast<std::size_t>(end_ - next_));
  Volume volume;
  if (!take_volume(token, rest, volume)) packed().damaged("a volume makes no sense");
  next_ = rest.data();
  *out = Op{};
  out->kind = Kind::compute;
  out->amount = value_of(volume);
  out->line = line_number(line_);
  return 1;
}

// A million readers do not keep the names of their files: the parser has that of the packed one.
std::size_t PackedReader::parse(std::string_view line, Op* out) {
  const bool last = next_ == end_ && blocks_.bytes_left() == 0;
  try {
    return parser_.parse(line, line_, last && !stream().newline_at_end, out);
  } catch (const TraceError& error) {
    throw TraceError(file(), error.line, error.message);
  }
}

std::size_t PackedReader::take_slot(std::string_view line_template, Op* out) {
  std::string& line = parser_.calls().scratch().text;
  line.assign(std::to_string(stream().rank)).append(" ");
  const std::size_t prefix = line.size();
  if (!append_line(line_template, stream().rank, packed().words(), line)) {
    packed().damaged("a template makes no sense");
  }
  step();
  const std::size_t made = parse(line, out);
  if (is_init(std::string_view(line).substr(prefix))) {
    clear_slots();
    return made;
  }
  if (made == 0) packed().damaged("a template is of no action");
  fill_slot(next_slot_, out, made);
  if (++next_slot_ == packed().slots_limit()) next_slot_ = 0;
  return made;
}

void PackedReader::fill_slot(std::size_t slot, const Op* ops, std::size_t count) {
  if (slot == slots_.size()) {
    // A quarter more, not twice as many: a million readers have slots.
    if (slot == slots_.capacity()) slots_.reserve(slot + slot / 4 + 4);
    slots_.push_back(Op{});
  }
  std::uint32_t place = slots_[slot].line == kInLonger ? 0 : slots_[slot].line;
  slots_[slot] = ops[0];
  if (count > 2) {
    slots_[slot].flags |= kHasSecond;
    slots_[slot].line = kInLonger;
    if (!longer_) longer_ = std::make_unique<std::map<std::size_t, std::vector<Op>>>();
    (*longer_)[slot].assign(ops + 1, ops + count);
    return;
  }
  if (count == 2) {
    slots_[slot].flags |= kHasSecond;
    if (place == 0) {
      if (seconds_.size() == seconds_.capacity()) seconds_.reserve(2 * seconds_.size() + 1);
      seconds_.push_back(Op{});
      place = static_cast<std::uint32_t>(seconds_.size());
    }
    seconds_[place - 1] = ops[1];
  }
  slots_[slot].line = place;
}

void PackedReader::clear_slots() {
  slots_.clear();
  seconds_.clear();
  longer_.reset();
  next_slot_ = 0;
}

std::size_t PackedReader::from_slot(std::size_t slot, Op* out) {
  if (slot >= slots_.size()) packed().damaged("it lacks a line");
  step();
  out[0] = slots_[slot];
  out[0].line = line_number(line_);
  if ((out[0].flags & kHasSecond) == 0) return 1;
  out[0].flags = static_cast<std::uint8_t>(out[0].flags & ~kHasSecond);
  if (slots_[slot].line == kInLonger) {
    const std::vector<Op>& rest = longer_->at(slot);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      out[1 + i] = rest[i];
      out[1 + i].line = out[0].line;
    }
    return 1 + rest.size();
  }
  out[1] = seconds_[slots_[slot].line - 1];
  out[1].line = out[0].line;
  return 2;
}

std::uint64_t PackedReader::varint() {
  ByteCursor cursor({next_, static_cast<std::size_t>(end_ - next_)});
  const std::uint64_t value = cursor.varint();
  if (cursor.failed()) packed().damaged("a block ends inside a line");
  next_ = cursor.position();
  return value;
}

std::string_view PackedReader::text() {
  ByteCursor cursor({next_, static_cast<std::size_t>(end_ - next_)});
  const std::string_view value = cursor.text();
  if (cursor.failed()) packed().damaged("a block ends inside a line");
  next_ = cursor.position();
  return value;
}

}  // namespace tisim
