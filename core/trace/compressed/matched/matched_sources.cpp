#include "trace/compressed/matched/matched_sources.hpp"

namespace tisim {

namespace {

bool is_receive(Kind kind) {
  return kind == Kind::recv || kind == Kind::irecv || kind == Kind::recv_half ||
         kind == Kind::probe || kind == Kind::iprobe;
}

}  // namespace

MatchedSourcesReader::MatchedSourcesReader(std::unique_ptr<RankReader> reader,
                                           const CompressedFile& file, std::int32_t rank)
    : reader_(std::move(reader)),
      file_(file),
      rank_(rank),
      walk_(file, rank),
      attribute_(file.attributes()->number_of(kMatchedAttribute).value()) {
  is_at_line_ = walk_.next();
}

std::size_t MatchedSourcesReader::read(Op* out, std::size_t capacity) {
  const std::size_t count = reader_->read(out, capacity);
  for (std::size_t i = 0; i < count; ++i) {
    if (out[i].peer == kAnySource && is_receive(out[i].kind)) {
      out[i].peer = source_of(out[i].line);
    }
  }
  return count;
}

bool MatchedSourcesReader::stop_at_loops() {
  return AttributeWalk(file_, rank_).repeats(attribute_) && reader_->stop_at_loops();
}

std::int32_t MatchedSourcesReader::source_of(std::uint32_t line) {
  while (is_at_line_ && walk_.line() < line) is_at_line_ = walk_.next();
  if (!is_at_line_ || walk_.line() > line) return kAnySource;
  for (const AttributeWalk::Value& value : walk_.values()) {
    if (value.attribute != attribute_) continue;
    if (value.value < 0 || value.value >= file_.ranks()) {
      file_.damaged("a receive matched what is no rank");
    }
    return static_cast<std::int32_t>(value.value);
  }
  return kAnySource;
}

}  // namespace tisim
