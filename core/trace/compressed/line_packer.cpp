#include "trace/compressed/line_packer.hpp"

#include <charconv>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "trace/text/quick_line.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/vocabulary/rank_arguments.hpp"

namespace tisim {

namespace {

constexpr std::string_view kHistogramPrefix = "histogram=";

}  // namespace

LinePacker::LinePacker(tit::TraceWriter& writer, const Vocabulary& vocabulary, std::int32_t rank,
                       bool merged, tit::RankPart spare)
    : writer_(writer),
      vocabulary_(vocabulary),
      prefix_(std::to_string(rank) + " "),
      compute_prefix_(prefix_ + "compute "),
      merged_(merged),
      part_(static_cast<std::uint32_t>(rank), std::move(spare)) {
  const std::string_view prefix = compute_prefix_;
  may_be_quick_ =
      !merged && !writer.draws_volumes() && prefix.size() >= kWord && prefix.size() <= 2 * kWord;
  if (!may_be_quick_) return;
  compute_start_ = QuickLine::load(prefix.data());
  compute_end_ = QuickLine::load(prefix.data() + prefix.size() - kWord);
}

void LinePacker::line(std::string_view text, std::uint64_t number) {
  if (merged_) {
    bool is_new = false;
    lines_.push_back(known_.number(text, is_new));
    steps_.push_back(number - last_number_);
    last_number_ = number;
    return;
  }
  if (!take_volume(text)) part_.make(number_of(text));
}

// Computations of whole numbers below a million, and lines that come where they came the last time.
std::size_t LinePacker::quick_lines(std::string_view text) {
  if (!may_be_quick_) return 0;
  // Before the last bytes whole words can be read.
  constexpr std::ptrdiff_t kLeastLeft = 4 * kWord;
  const std::size_t prefix_size = compute_prefix_.size();
  const char* p = text.data();
  const char* const end = p + text.size();
  while (end - p >= kLeastLeft) {
    if (QuickLine::load(p) == compute_start_ &&
        QuickLine::load(p + prefix_size - kWord) == compute_end_) {
      const char* const behind = pass_whole_number(p + prefix_size);
      if (behind == nullptr) break;
      p = behind;
      continue;
    }
    std::uint32_t number = 0;
    if (!known_.pass_next(p, end, number)) break;
    part_.make(call_of_line_[number]);
  }
  return static_cast<std::size_t>(p - text.data());
}

// The volume of a computation at `p`, if it is a whole number of few digits before a newline; what
// follows the newline, or nullptr.
const char* LinePacker::pass_whole_number(const char* p) {
  constexpr std::ptrdiff_t kMostDigits = 6;
  const char* const first = p;
  std::int64_t fault = 0;
  const std::int64_t value = QuickLine::digits(p, fault);
  const bool has_zeros = *first == '0' && p - first > 1;
  if (fault < 0 || p - first > kMostDigits || *p != '\n' || has_zeros) return nullptr;
  part_.compute(static_cast<std::uint64_t>(value));
  return p + 1;
}

std::uint32_t LinePacker::number_of(std::string_view text) {
  bool is_new = false;
  const std::uint32_t line = known_.number(text, is_new);
  if (is_new) call_of_line_.push_back(part_.define(call_of(text, 0)));
  return call_of_line_[line];
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
    const std::string_view line = known_.text(lines_[i]);
    const std::uint64_t step = all || steps_[i] != 1 ? steps_[i] : 0;
    if (step == 0 && take_volume(line)) continue;
    const auto known = calls.emplace(std::make_pair(lines_[i], step), 0);
    if (known.second) known.first->second = part_.define(call_of(line, step));
    part_.make(known.first->second);
  }
}

}  // namespace tisim
