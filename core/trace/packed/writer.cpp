#include "trace/packed/writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "trace/packed/attributes.hpp"
#include "trace/text/known_lines.hpp"
#include "trace/text/quick_line.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

namespace {

constexpr std::string_view kHistogramPrefix = "histogram=";

}  // namespace

// Converts the lines of one rank to calls. Keeps every byte of every line, valid or not.
class LinePacker {
 public:
  // The writer and the vocabulary must outlive the packer. `merged`: the lines are among those of
  // other ranks in one file. `spare`: a part whose memory is reused.
  LinePacker(tit::TraceWriter& writer, const Vocabulary& vocabulary, std::int32_t rank, bool merged,
             tit::RankPart spare = tit::RankPart(0));

  // Adds a line without its newline; `number` counts from 1 in its file and increases.
  void line(std::string_view text, std::uint64_t number);

  // Takes lines from the start of `text`, each with its newline, while the fast path applies, in a
  // file of this rank alone; returns their number of bytes, possibly 0.
  std::size_t quick_lines(std::string_view text);

  // The number in the part of a line's call; here a computation is a call too.
  std::uint32_t number_of(std::string_view text);

  // The calls of all lines.
  tit::RankPart finish();

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  const char* pass_whole_number(const char* p);
  bool take_volume(std::string_view text);
  bool take_drawn_volume(std::string_view text);
  // `step`: distance to the rank's previous line; 0: not stored.
  tit::Call call_of(std::string_view text, std::uint64_t step);
  void finish_merged();

  tit::TraceWriter& writer_;
  const Vocabulary& vocabulary_;
  std::string prefix_;          // of the rank's lines
  std::string compute_prefix_;  // of its computations
  bool merged_;
  tit::RankPart part_;
  bool may_be_quick_ = false;
  std::uint64_t compute_start_ = 0;  // the first and the last bytes of the prefix
  std::uint64_t compute_end_ = 0;
  KnownLines known_;
  std::vector<std::uint32_t> call_of_line_;  // the number in the part; not of a merged file
  // In a merged file: each line, and its distance to the rank's previous one.
  std::vector<std::uint32_t> lines_;
  std::vector<std::uint64_t> steps_;
  std::uint64_t last_number_ = 0;
};

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

// Fast path for computations of whole numbers below a million and for correctly predicted lines.
std::size_t LinePacker::quick_lines(std::string_view text) {
  if (!may_be_quick_) return 0;
  // Whole words can be read before the last bytes.
  constexpr std::ptrdiff_t kMinRemaining = 4 * kWord;
  const std::size_t prefix_size = compute_prefix_.size();
  const char* p = text.data();
  const char* const end = p + text.size();
  while (end - p >= kMinRemaining) {
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

// Takes the volume of a computation at `p`, if it is a whole number of few digits before a newline;
// returns the address after the newline, or nullptr.
const char* LinePacker::pass_whole_number(const char* p) {
  constexpr std::ptrdiff_t kMaxDigits = 6;
  const char* const first = p;
  std::int64_t fault = 0;
  const std::int64_t value = QuickLine::digits(p, fault);
  const bool has_zeros = *first == '0' && p - first > 1;
  if (fault < 0 || p - first > kMaxDigits || *p != '\n' || has_zeros) return nullptr;
  part_.compute(static_cast<std::uint64_t>(value));
  return p + 1;
}

std::uint32_t LinePacker::number_of(std::string_view text) {
  bool is_new = false;
  const std::uint32_t line = known_.number(text, is_new);
  if (is_new) call_of_line_.push_back(part_.define(call_of(text, 0)));
  return call_of_line_[line];
}

// True if the line is a plain computation.
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

// If most lines directly follow their rank's previous line, only the others store their distance to
// it; otherwise all lines do.
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

namespace {

// Calls `take(line)` for each line of a text.
template <class Take>
void for_each_line_in(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    take(text.substr(0, text[end] == '\n' ? end : end + 1));
    text.remove_prefix(end + 1);
  }
}

}  // namespace

PackedWriter::PackedWriter(std::int32_t ranks, bool merged, bool volumes_in_column)
    : vocabulary_({}),
      writer_(static_cast<std::uint32_t>(ranks)),
      ranks_(ranks),
      merged_(merged),
      volumes_in_column_(volumes_in_column) {}

PackedWriter::~PackedWriter() = default;

LinePacker& PackedWriter::packer() {
  if (!packer_) throw std::logic_error("no rank has begun");
  return *packer_;
}

void PackedWriter::line(std::string_view text, std::uint64_t number) {
  packer().line(text, number);
}

void PackedWriter::draw_volumes(std::uint64_t seed) {
  if (next_rank_ > 0 || merged_) throw std::logic_error("ranks have been written already");
  writer_.draw_volumes(seed);
  volumes_in_column_ = true;
}

void PackedWriter::begin_rank(std::string_view name) {
  name_ = name;
  number_ = 0;
  packer_ =
      std::make_unique<LinePacker>(writer_, vocabulary_, next_rank_++, merged_, std::move(spare_));
}

void PackedWriter::lines(std::string_view text) {
  LinePacker& into = packer();
  while (!text.empty()) {
    text.remove_prefix(into.quick_lines(text));
    if (text.empty()) break;
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    into.line(text.substr(0, text[end] == '\n' ? end : end + 1), ++number_);
    text.remove_prefix(end + 1);
  }
}

void PackedWriter::end_rank(bool newline) {
  spare_ = packer().finish();
  writer_.add(tit::program_of(spare_, volumes_in_column_, known_), name_, newline);
  packer_.reset();
}

std::string PackedWriter::finish(tit::FileLayout layout) {
  if (next_rank_ != ranks_) throw std::logic_error("not all ranks have been written");
  return writer_.finish(std::move(layout));
}

void PackedWriter::add_rank(std::string_view name, const std::vector<Piece>& pieces) {
  constexpr std::uint64_t kEndOfPiece = std::numeric_limits<std::uint64_t>::max();
  if (writer_.draws_volumes()) throw std::logic_error("drawn volumes come line by line");
  LinePacker packer(writer_, vocabulary_, next_rank_, false);
  std::vector<std::uint64_t> key;
  for (const Piece& piece : pieces) {
    if (piece.times == 0) continue;
    for_each_line_in(piece.lines,
                     [&](std::string_view line) { key.push_back(packer.number_of(line)); });
    key.push_back(kEndOfPiece);
    key.push_back(piece.times);
  }
  tit::RankProgram program;
  program.rank = static_cast<std::uint32_t>(next_rank_++);
  program.calls = packer.finish().calls();
  program.columns.resize(program.calls.size());
  const auto known = grammars_.emplace(std::move(key), tit::Grammar{});
  if (known.second) {
    tit::SequenceEncoder encoder;
    const std::vector<std::uint64_t>& calls = known.first->first;
    for (auto from = calls.begin(); from != calls.end();) {
      const auto to = std::find(from, calls.end(), kEndOfPiece);
      for (std::uint64_t i = 0; i < to[1]; ++i) {
        for (auto call = from; call != to; ++call) encoder.add(static_cast<std::uint32_t>(*call));
      }
      from = to + 2;
    }
    known.first->second = encoder.take();
  }
  program.grammar = known.first->second;
  writer_.add(std::move(program), name, true);
}

void PackedWriter::add_program(std::string_view name, const std::vector<std::string_view>& lines,
                               tit::Grammar grammar, const std::vector<std::int64_t>& volumes) {
  grammar.require_sound(lines.size());
  if (!volumes.empty() && volumes.size() != grammar.length()) {
    throw std::invalid_argument("a program has a volume before each line");
  }
  LinePacker packer(writer_, vocabulary_, next_rank_, false);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(lines.size());
  for (const std::string_view line : lines) numbers.push_back(packer.number_of(line));
  for (std::vector<tit::Item>& rule : grammar.rules) {
    for (tit::Item& item : rule) {
      if (!item.is_rule()) item = tit::Item::terminal(numbers[item.number()], item.exponent);
    }
  }
  grammar.renumber();
  tit::RankProgram program;
  program.rank = static_cast<std::uint32_t>(next_rank_++);
  program.calls = packer.finish().calls();
  program.columns.resize(program.calls.size());
  program.grammar = std::move(grammar);
  program.has_volumes = !volumes.empty();
  program.values.reserve(volumes.size());
  for (const std::int64_t volume : volumes) {
    program.values.push_back(volume < 0 ? 0 : volume_code_of(volume) + 1);
    program.volumes += volume < 0 ? 0 : 1;
  }
  writer_.add(std::move(program), name, true);
}

void PackedWriter::add_calls(std::string_view name, const Calls& made) {
  const auto require = [](bool holds) {
    if (!holds) throw std::invalid_argument("calls have lines that are not there");
  };
  require(!made.offsets.empty() && made.calls.size() == made.volumes.size());
  LinePacker packer(writer_, vocabulary_, next_rank_, false);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(made.lines.size());
  for (const std::string_view line : made.lines) numbers.push_back(packer.number_of(line));
  tit::RankPart part = with_call_sites(packer.finish(), made, numbers);
  for (std::size_t i = 0; i < made.calls.size(); ++i) {
    const std::size_t call = made.calls[i];
    require(call + 1 < made.offsets.size() && made.offsets[call + 1] <= made.places.size());
    if (made.volumes[i] >= 0) part.compute(volume_code_of(made.volumes[i]));
    for (std::size_t place = made.offsets[call]; place < made.offsets[call + 1]; ++place) {
      require(made.places[place] < numbers.size());
      part.make(numbers[made.places[place]]);
    }
  }
  ++next_rank_;
  writer_.add(tit::program_of(part, volumes_in_column_, known_), name, true);
}

// The same calls, one for each call path; `numbers`: those of the lines' calls.
tit::RankPart PackedWriter::with_call_sites(const tit::RankPart& plain, const Calls& made,
                                            std::vector<std::uint32_t>& numbers) {
  if (made.paths.empty()) return plain;
  if (made.path_of.size() != numbers.size()) {
    throw std::invalid_argument("each line has a call path, or none has");
  }
  const std::uint32_t attribute =
      writer_.attribute({std::string(kCallSiteAttribute), tit::AttributeKind::text});
  std::vector<std::int64_t> texts;
  for (const std::string& path : made.paths) {
    const std::string error = tit::Attribute::error_of_text(path);
    if (!error.empty()) throw std::invalid_argument(error);
    texts.push_back(writer_.text(path));
  }
  tit::RankPart part(plain.rank());
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> known;
  for (std::size_t line = 0; line < numbers.size(); ++line) {
    const std::int32_t path = std::max(made.path_of[line], -1);
    if (path >= static_cast<std::int32_t>(texts.size())) {
      throw std::invalid_argument("a line has a call path that is not there");
    }
    const auto [number, is_new] = known.emplace(std::make_pair(numbers[line], path), 0U);
    if (is_new) {
      tit::Call call = plain.calls()[numbers[line]];
      if (path >= 0) call.attributes = {{attribute, texts[static_cast<std::size_t>(path)]}};
      number->second = part.define(std::move(call));
    }
    numbers[line] = number->second;
  }
  return part;
}

// The entry of a column for a volume that is a whole number, or for a histogram.
std::uint64_t PackedWriter::volume_code_of(std::int64_t volume) {
  if (writer_.draws_volumes()) {
    if (static_cast<std::uint64_t>(volume) >= writer_.histograms().size()) {
      throw std::invalid_argument("there is no histogram of volumes " + std::to_string(volume));
    }
    return static_cast<std::uint64_t>(volume);
  }
  const std::uint64_t code = tit::volume_code(std::to_string(volume));
  if (code == tit::kNoVolumeCode) {
    throw std::invalid_argument("a volume is too large: " + std::to_string(volume));
  }
  return code;
}

}  // namespace tisim
