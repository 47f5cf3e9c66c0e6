#include "trace/compressed/line_packer.hpp"

#include <charconv>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "tit/file/volume_code.hpp"
#include "trace/vocabulary/rank_arguments.hpp"

namespace tisim {

namespace {

constexpr std::string_view kHistogramPrefix = "histogram=";

std::uint64_t hash_of_text(std::string_view text) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = text.size() * kMultiplier;
  const char* p = text.data();
  std::size_t left = text.size();
  const auto take = [&](std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, size);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  for (; left > 8; left -= 8, p += 8) take(8);
  take(left);
  return hash;
}

}  // namespace

LinePacker::LinePacker(tit::TraceWriter& writer, const Vocabulary& vocabulary, std::int32_t rank,
                       bool merged)
    : writer_(writer),
      vocabulary_(vocabulary),
      prefix_(std::to_string(rank) + " "),
      compute_prefix_(prefix_ + "compute "),
      merged_(merged),
      part_(static_cast<std::uint32_t>(rank)),
      slots_(256, 0) {}

void LinePacker::line(std::string_view text, std::uint64_t number) {
  if (merged_) {
    bool is_new = false;
    lines_.push_back(text_number(text, is_new));
    steps_.push_back(number - last_number_);
    last_number_ = number;
    return;
  }
  if (!take_volume(text)) part_.make(number_of(text));
}

std::uint32_t LinePacker::number_of(std::string_view text) {
  bool is_new = false;
  const std::uint32_t at = text_number(text, is_new);
  if (is_new) texts_[at].call = part_.define(call_of(text, 0));
  return texts_[at].call;
}

// Whether the line is a plain computation.
bool LinePacker::take_volume(std::string_view text) {
  const std::size_t start = compute_prefix_.size();
  if (text.size() <= start || std::memcmp(text.data(), compute_prefix_.data(), start) != 0) {
    return false;
  }
  if (writer_.draws_volumes()) return take_drawn_volume(text.substr(start));
  const std::uint64_t code = tit::volume_code(text.substr(start));
  if (code == tit::kNoVolumeCode) return false;
  part_.compute(code);
  return true;
}

bool LinePacker::take_drawn_volume(std::string_view text) {
  if (text.substr(0, kHistogramPrefix.size()) != kHistogramPrefix) {
    const std::uint64_t code = tit::volume_code(text);
    if (code == tit::kNoVolumeCode) return false;
    part_.compute(writer_.histograms().add(code));
    return true;
  }
  text.remove_prefix(kHistogramPrefix.size());
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() ||
      number >= writer_.histograms().size()) {
    throw std::invalid_argument("there is no histogram of volumes " + std::string(text));
  }
  part_.compute(number);
  return true;
}

std::uint32_t LinePacker::text_number(std::string_view text, bool& is_new) {
  // In a loop the line is the one that came after the line before the last time, too.
  if (last_ < texts_.size() && has_text(texts_[last_].next, text)) {
    return last_ = texts_[last_].next;
  }
  const std::uint32_t number = find_text(text, is_new);
  if (last_ < texts_.size()) texts_[last_].next = number;
  return last_ = number;
}

bool LinePacker::has_text(std::uint32_t number, std::string_view text) const {
  return texts_[number].size == text.size() &&
         std::memcmp(characters_.data() + texts_[number].offset, text.data(), text.size()) == 0;
}

std::uint32_t LinePacker::find_text(std::string_view text, bool& is_new) {
  const std::uint64_t hash = hash_of_text(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t number = slots_[at] - 1;
    if (hashes_[number] == hash && has_text(number, text)) return number;
  }
  is_new = true;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back({characters_.size(), static_cast<std::uint32_t>(text.size()), 0, 0});
  hashes_.push_back(hash);
  characters_ += text;
  slots_[at] = number + 1;
  if (2 * texts_.size() > slots_.size()) grow();
  return number;
}

void LinePacker::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
    std::size_t at = hashes_[number] & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = number + 1;
  }
}

tit::Call LinePacker::call_of(std::string_view text, std::uint64_t step) {
  const bool has_rank = text.substr(0, prefix_.size()) == prefix_;
  tit::Line line = has_rank ? tit::line_of(text.substr(prefix_.size())) : tit::raw_line_of(text);
  std::uint64_t rank_holes = 0;
  if (has_rank && !line.numbers.empty()) {
    const std::string_view body = text.substr(prefix_.size());
    const unsigned ranks =
        rank_arguments(vocabulary_.find(body.substr(0, body.find_first_of(" \t"))));
    const std::vector<tit::Hole> holes = tit::holes_of(line.shape);
    for (std::size_t i = 0; i < holes.size() && i < 64; ++i) {
      const std::size_t word = holes[i].word;
      if (holes[i].is_argument && word >= 1 && word <= 32 && ((ranks >> (word - 1)) & 1) != 0) {
        rank_holes |= std::uint64_t{1} << i;
      }
    }
  }
  if (step > 0) {
    line.shape += static_cast<char>(tit::kStepMark);
    line.numbers.push_back(static_cast<std::int64_t>(step));
  }
  return {writer_.shape(line.shape, rank_holes), std::move(line.numbers)};
}

tit::RankPart LinePacker::finish() {
  if (merged_) finish_merged();
  return std::move(part_);
}

// Where most lines follow their rank's line before at once, only the others say how far behind it
// they are; else all lines do.
void LinePacker::finish_merged() {
  constexpr std::size_t kRare = 16;
  std::size_t apart = 0;
  for (const std::uint64_t step : steps_) apart += step != 1 ? 1 : 0;
  const bool all = apart > steps_.size() / kRare + 1;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> calls;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Text& text = texts_[lines_[i]];
    const std::string_view line(characters_.data() + text.offset, text.size);
    const std::uint64_t step = all || steps_[i] != 1 ? steps_[i] : 0;
    if (step == 0 && take_volume(line)) continue;
    const auto known = calls.emplace(std::make_pair(lines_[i], step), 0);
    if (known.second) known.first->second = part_.define(call_of(line, step));
    part_.make(known.first->second);
  }
}

}  // namespace tisim
