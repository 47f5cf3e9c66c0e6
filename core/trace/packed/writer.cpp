#include "trace/packed/writer.hpp"

#include <algorithm>

#include "trace/packed/byte_codec.hpp"
#include "trace/packed/format.hpp"
#include "trace/packed/volume.hpp"
#include "trace/tit/codec/crc32c.hpp"

namespace tisim {

namespace {

using namespace packed;

constexpr std::size_t kWriteBuffer = 1U << 20;
constexpr std::size_t kLongestTemplate = 64U << 10;  // longer lines are kept as they are
constexpr std::size_t kDictionaryBytes = 8U << 20;
constexpr std::size_t kOpSize = 24;  // what a slot takes in a reader

bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out += text;
}

void put_name(std::string& out, std::string_view name, std::string_view before) {
  const std::size_t shorter = std::min(name.size(), before.size());
  std::size_t front = 0;
  while (front < shorter && name[front] == before[front]) ++front;
  std::size_t back = 0;
  while (back < shorter - front &&
         name[name.size() - 1 - back] == before[before.size() - 1 - back]) {
    ++back;
  }
  put_varint(out, front);
  put_varint(out, back);
  put_text(out, name.substr(front, name.size() - front - back));
}

std::size_t share(std::size_t all, std::int32_t ranks, std::size_t least, std::size_t most) {
  return std::clamp(all / static_cast<std::size_t>(std::max(ranks, 1)), least, most);
}

}  // namespace

std::string packed_header(std::string_view index, std::uint64_t index_offset) {
  std::string header(kMagic);
  put_fixed(header, kVersion);
  put_fixed(header, tit::crc32c(index.data(), index.size()));
  put_fixed(header, index_offset + index.size());
  put_fixed(header, index_offset);
  put_fixed(header, std::uint32_t{0});
  put_fixed(header, tit::crc32c(header.data(), header.size()));
  return header;
}

PackedWriter::PackedWriter(const std::string& path, std::int32_t ranks)
    : path_(path),
      file_(create_file(path)),
      block_size_(share(kAllBlocks, ranks, kLeastBlock, kMostBlock)),
      slots_limit_(share(kAllBlocks / kOpSize, ranks, kNearSlots, kMostSlots)),
      position_(kHeaderSize) {}

PackedWriter::~PackedWriter() = default;

void PackedWriter::begin_rank(std::int32_t rank, std::string_view name) {
  rank_ = rank;
  prefix_ = std::to_string(rank) + " ";
  name_ = name;
  clear_slots();
  number_ = 0;
  stride_ = 1;
  last_gap_ = 1;
  actions_ = 0;
  stream_start_ = position_ + waiting_.size();
}

void PackedWriter::line(std::string_view text, std::uint64_t number) {
  constexpr std::string_view kCompute = "compute ";
  step_to(number);
  const std::size_t start = text.find_first_not_of(" \t\r");
  if (start != std::string_view::npos && text[start] != '#') ++actions_;
  const std::string_view body =
      text.starts_with(prefix_) ? text.substr(prefix_.size()) : std::string_view();
  if (body.empty() || !is_letter(body.front()) || body.size() > kLongestTemplate) {
    raw(text);
  } else if (body.starts_with(kCompute)) {
    compute(body.substr(kCompute.size()));
  } else {
    repeatable(body);
  }
  if (block_.size() >= block_size_) end_block();
}

void PackedWriter::lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line(text.substr(0, end), number_ + 1);
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
}

// Says which line comes next when it is not the one that is expected.
void PackedWriter::step_to(std::uint64_t number) {
  const std::uint64_t gap = number - number_;
  number_ = number;
  if (gap == stride_) {
    last_gap_ = gap;
    return;
  }
  const bool again = gap == last_gap_;
  last_gap_ = gap;
  if (again) stride_ = gap;
  block_ += static_cast<char>(again ? kStride : kJump);
  put_varint(block_, gap);
}

void PackedWriter::compute(std::string_view text) {
  const Volume volume = volume_of(text);
  put_volume(volume, block_);
  if (volume.form == Volume::text) put_text(block_, text);
}

void PackedWriter::repeatable(std::string_view body) {
  if (const auto slot = slots_.find(body); slot != slots_.end()) {
    refer_to(slot->second);
    return;
  }
  std::string line_template = make_template(body, rank_, words_);
  auto known = dictionary_.find(line_template);
  if (known == dictionary_.end() && templates_.size() < kMostTemplates &&
      dictionary_bytes_ + line_template.size() < kDictionaryBytes) {
    dictionary_bytes_ += line_template.size();
    const auto number = static_cast<std::uint32_t>(templates_.size());
    known = dictionary_.emplace(line_template, number).first;
    templates_.push_back(&known->first);
  }
  if (known != dictionary_.end()) {
    block_ += static_cast<char>(kImport);
    put_varint(block_, known->second);
  } else {
    block_ += static_cast<char>(kNew);
    put_text(block_, line_template);
  }
  if (is_init(body)) {
    clear_slots();
  } else {
    take_slot(body);
  }
}

void PackedWriter::refer_to(std::uint32_t slot) {
  if (slot < kNearSlots) {
    block_ += static_cast<char>(kNear + slot);
  } else {
    block_ += static_cast<char>(kFar);
    put_varint(block_, slot - kNearSlots);
  }
}

void PackedWriter::take_slot(std::string_view body) {
  const std::size_t slot = next_slot_++ % slots_limit_;
  if (slot < bodies_.size()) slots_.erase(*bodies_[slot]);
  const auto taken = slots_.emplace(body, static_cast<std::uint32_t>(slot)).first;
  if (slot < bodies_.size()) {
    bodies_[slot] = &taken->first;
  } else {
    bodies_.push_back(&taken->first);
  }
}

void PackedWriter::clear_slots() {
  slots_.clear();
  bodies_.clear();
  next_slot_ = 0;
}

void PackedWriter::raw(std::string_view line) {
  block_ += static_cast<char>(kRaw);
  put_text(block_, line);
  if (is_init(behind_first_word(line))) clear_slots();
}

void PackedWriter::end_block() {
  if (block_.empty()) return;
  put_varint(waiting_, block_.size());
  put_fixed(waiting_, tit::crc32c(block_.data(), block_.size()));
  waiting_ += block_;
  block_.clear();
  if (waiting_.size() >= kWriteBuffer) flush();
}

void PackedWriter::flush() {
  write_at(*file_, waiting_, position_, path_);
  position_ += waiting_.size();
  waiting_.clear();
}

void PackedWriter::end_rank(bool newline) {
  end_block();
  put_varint(streams_, zigzag(rank_ - rank_before_ - 1));
  put_varint(streams_, actions_);
  put_varint(streams_, position_ + waiting_.size() - stream_start_);
  streams_ += static_cast<char>(newline ? 0 : kNoLastNewline);
  put_name(streams_, name_, name_before_);
  rank_before_ = rank_;
  name_before_ = name_;
  ++streams_count_;
}

void PackedWriter::finish(const PackedLayout& layout) {
  flush();
  std::string index;
  index += static_cast<char>(layout.merged ? 1 : 0);
  index += static_cast<char>(layout.dialect);
  put_varint(index, slots_limit_);
  put_varint(index, words_.words().size());
  for (const std::string& word : words_.words()) put_text(index, word);
  put_varint(index, templates_.size());
  for (const std::string* line_template : templates_) put_text(index, *line_template);
  put_text(index, layout.index_name);
  put_text(index, layout.index_text);
  put_varint(index, streams_count_);
  index += streams_;
  write_at(*file_, index, position_, path_);

  write_at(*file_, packed_header(index, position_), 0, path_);
}

}  // namespace tisim
