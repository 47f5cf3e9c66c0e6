#include "trace/packed/text.hpp"

#include "trace/packed/byte_codec.hpp"
#include "trace/packed/format.hpp"
#include "trace/packed/line_template.hpp"
#include "trace/packed/volume.hpp"

namespace tisim {

using namespace packed;

bool PackedText::next(std::string& out) {
  do {
    while (payload_.empty()) {
      if (!blocks_.next(payload_)) return false;
    }
  } while (!append_token(out));
  return true;
}

// False when the token is no line.
bool PackedText::append_token(std::string& out) {
  const auto token = static_cast<std::uint8_t>(payload_.front());
  payload_.remove_prefix(1);
  if (token == kJump) {
    number_ += varint() - stride_;
    return false;
  }
  if (token == kStride) {
    stride_ = varint();
    return false;
  }
  number_ += stride_;
  if (token == kRaw) {
    const std::string_view line = text();
    if (is_init(behind_first_word(line))) {
      slots_.clear();
      next_slot_ = 0;
    }
    out += line;
  } else if (token == kNew) {
    append_template(text(), out);
  } else if (token == kImport) {
    const std::uint64_t number = varint();
    if (number >= file_->dictionary().size()) file_->damaged("it lacks a template");
    append_template(file_->dictionary()[number], out);
  } else if (token == kFar) {
    append_slot(kNearSlots + varint(), out);
  } else if (token >= kNear) {
    append_slot(token - kNear, out);
  } else {
    append_compute(token, out);
  }
  return true;
}

void PackedText::append_template(std::string_view line_template, std::string& out) {
  std::string body;
  if (!append_line(line_template, stream_->rank, file_->words(), body)) {
    file_->damaged("a template makes no sense");
  }
  out.append(prefix_).append(body);
  if (is_init(body)) {
    slots_.clear();
    next_slot_ = 0;
    return;
  }
  const std::size_t slot = next_slot_++ % file_->slots_limit();
  if (slot == slots_.size()) slots_.emplace_back();
  slots_[slot] = std::move(body);
}

void PackedText::append_slot(std::uint64_t slot, std::string& out) {
  if (slot >= slots_.size()) file_->damaged("it lacks a line");
  out.append(prefix_).append(slots_[slot]);
}

void PackedText::append_compute(unsigned token, std::string& out) {
  out.append(prefix_).append("compute ");
  if (token == kText) {
    out += text();
    return;
  }
  Volume volume;
  if (!take_volume(token, payload_, volume)) file_->damaged("a volume makes no sense");
  append_volume(volume, out);
}

std::uint64_t PackedText::varint() {
  ByteCursor cursor(payload_);
  const std::uint64_t value = cursor.varint();
  if (cursor.failed()) file_->damaged("a block ends inside a line");
  payload_.remove_prefix(payload_.size() - cursor.left());
  return value;
}

std::string_view PackedText::text() {
  ByteCursor cursor(payload_);
  const std::string_view value = cursor.text();
  if (cursor.failed()) file_->damaged("a block ends inside a line");
  payload_.remove_prefix(payload_.size() - cursor.left());
  return value;
}

}  // namespace tisim
