#include "trace/archive/trace_set.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "trace/archive/free_completions.hpp"
#include "trace/error.hpp"
#include "trace/grammar/line_parser.hpp"
#include "trace/packed/calls.hpp"
#include "trace/packed/competing_receives.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/reader.hpp"
#include "trace/text/dialect.hpp"
#include "trace/text/line_buffer.hpp"
#include "trace/text/rank_files.hpp"
#include "trace/text/reader.hpp"
#include "trace/trace_file.hpp"

namespace tisim {

namespace {

constexpr std::size_t kAllBuffers = 64U << 20;  // shared by all ranks
constexpr std::size_t kMinBuffer = 1U << 10;
constexpr std::size_t kMaxBuffer = 256U << 10;

// The attribute of a receive from any source that names the rank it matched.
constexpr std::string_view kMatchedAttribute = "matched";

// Beginning of the comment that lists the ranks of a recording that did not end.
constexpr std::string_view kCutComment = "# incomplete: ranks ";

bool is_receive(Kind kind) {
  return kind == Kind::recv || kind == Kind::irecv || kind == Kind::recv_half ||
         kind == Kind::probe || kind == Kind::iprobe;
}

// True if the leading comments of a text trace say that ranks were cut off.
bool is_marked_incomplete(const TraceFile& file) {
  LineBuffer lines(file, kMinBuffer);
  while (lines.refill()) {
    for (const char* p = lines.begin(); p != lines.end();) {
      const std::string_view line = LineBuffer::line_at(p, lines.end());
      p += line.size() + 1;
      if (line.starts_with(kCutComment)) return true;
      if (!line.empty() && line.front() != '#') return false;
    }
  }
  return false;
}

// Decorates the reader of a rank of a packed trace. Receives without that attribute and probes that
// found nothing stay unchanged. A start of a persistent receive names the source it matched.
class MatchedSourcesReader final : public ReaderDecorator {
 public:
  // `file`, which must have the attribute, must outlive the reader.
  MatchedSourcesReader(std::unique_ptr<RankReader> reader, const PackedFile& file,
                       std::int32_t rank);

  std::size_t read(Op* out, std::size_t capacity) override;
  // Only if the attribute shows that each call always matches the same rank.
  bool stop_at_loops() override;
  void set_stops_at_turns(bool stops) override { decorated().set_stops_at_turns(stops); }
  std::optional<LoopTurn> next_turn() override { return decorated().next_turn(); }
  void skip_repetitions(std::uint64_t count) override { decorated().skip_repetitions(count); }

 private:
  // The rank that the receive in a line matched; kAnySource if unknown.
  std::int32_t source_of(std::uint32_t line);

  const PackedFile& file_;
  std::int32_t rank_;
  AttributeWalk walk_;
  std::uint32_t attribute_;
  bool is_at_line_ = true;  // the walk has not ended
};

MatchedSourcesReader::MatchedSourcesReader(std::unique_ptr<RankReader> reader,
                                           const PackedFile& file, std::int32_t rank)
    : ReaderDecorator(std::move(reader)),
      file_(file),
      rank_(rank),
      walk_(file, rank),
      attribute_(file.attributes()->number_of(kMatchedAttribute).value()) {
  is_at_line_ = walk_.next();
}

std::size_t MatchedSourcesReader::read(Op* out, std::size_t capacity) {
  const std::size_t count = decorated().read(out, capacity);
  for (std::size_t i = 0; i < count; ++i) {
    const bool may_receive = is_receive(out[i].kind) || out[i].kind == Kind::start;
    if (out[i].peer == kAnySource && may_receive) {
      out[i].peer = source_of(out[i].line);
    }
  }
  return count;
}

bool MatchedSourcesReader::stop_at_loops() {
  const tit::RankColumn* const column = file_.column_of(rank_).column;
  if (column != nullptr && !column->blocks.empty()) return false;  // no reader stops then
  return repeats_attribute(file_, rank_, attribute_) && decorated().stop_at_loops();
}

std::int32_t MatchedSourcesReader::source_of(std::uint32_t line) {
  while (is_at_line_ && walk_.line() < line) is_at_line_ = walk_.next();
  if (!is_at_line_ || walk_.line() > line) return kAnySource;
  for (const PackedAttribute& value : walk_.values()) {
    if (value.attribute != attribute_) continue;
    if (value.value < 0 || value.value >= file_.ranks()) {
      file_.damaged("a receive matched an invalid rank");
    }
    return static_cast<std::int32_t>(value.value);
  }
  return kAnySource;
}

}  // namespace

struct TraceSet::Files {
  // In rank order.
  explicit Files(std::vector<TraceFile> files) : by_rank(std::move(files)) {}
  explicit Files(std::unique_ptr<const PackedFile> file) : packed(std::move(file)) {}

  std::vector<TraceFile> by_rank = {};
  bool are_parts = false;                         // of one file
  bool is_cut = false;                            // a text trace that was cut off
  std::unique_ptr<const PackedFile> packed = {};  // instead of by_rank
};

struct TraceSet::Reading {
  Reading(std::int32_t ranks, Dialect dialect, const TraceOptions& given)
      : options(given), vocabulary(given.custom_actions) {
    grammar.ranks = ranks;
    grammar.dialect = dialect;
    grammar.mistaken_null_is_any = given.mistaken_null_is_any;
    grammar.is_posix_layer = given.is_posix_layer;
    grammar.keeps_locations = !given.speedups.empty();
    grammar.vocabulary = &vocabulary;
  }

  TraceOptions options;
  Vocabulary vocabulary;
  TraceGrammar grammar;
};

TraceSet::TraceSet(std::shared_ptr<const Files> files, Dialect dialect, const TraceOptions& options)
    : files_(std::move(files)),
      reading_(std::make_unique<const Reading>(
          files_->packed ? files_->packed->ranks()
                         : static_cast<std::int32_t>(files_->by_rank.size()),
          dialect, options)) {}

TraceSet::~TraceSet() = default;

std::shared_ptr<const TraceSet> TraceSet::open(std::vector<TraceFile> files,
                                               const std::string& name, Dialect dialect,
                                               const TraceOptions& options,
                                               const Progress& progress) {
  if (files.empty()) throw TraceError(name, 0, "contains no trace file");
  std::shared_ptr<Files> sorted;
  if (files.size() == 1 && PackedFile::recognises(files.front())) {
    sorted = std::make_shared<Files>(std::make_unique<const PackedFile>(std::move(files.front())));
    if (dialect == Dialect::automatic) dialect = sorted->packed->dialect();
  } else if (files.size() == 1) {
    const MergedFile merged(files.front(), MergedFile::Comments::left_out,
                            part_of(progress, 0.0, 0.4));
    const bool are_parts = merged.ranks() > 1;
    const bool is_cut = is_marked_incomplete(files.front());
    sorted = std::make_shared<Files>(are_parts ? merged.split(part_of(progress, 0.4, 1.0))
                                               : std::move(files));
    sorted->are_parts = are_parts;
    sorted->is_cut = is_cut;
  } else {
    const std::vector<std::int64_t> ranks = ranks_of(files, name, progress);
    sorted = std::make_shared<Files>(std::vector<TraceFile>(files.size()));
    for (std::size_t i = 0; i < files.size(); ++i) {
      sorted->by_rank[static_cast<std::size_t>(ranks[i])] = std::move(files[i]);
    }
    sorted->is_cut = is_marked_incomplete(sorted->by_rank.front());
  }
  if (dialect == Dialect::automatic) dialect = detect_dialect(sorted->by_rank);
  return std::shared_ptr<const TraceSet>(new TraceSet(std::move(sorted), dialect, options));
}

std::shared_ptr<const TraceSet> TraceSet::with(const TraceOptions& options) const {
  return std::shared_ptr<const TraceSet>(new TraceSet(files_, dialect(), options));
}

const PackedFile* TraceSet::packed() const { return files_->packed.get(); }

std::int32_t TraceSet::ranks() const { return reading_->grammar.ranks; }

Dialect TraceSet::dialect() const { return reading_->grammar.dialect; }

std::string TraceSet::file(std::int32_t rank) const {
  if (packed() != nullptr) return packed()->display_name(rank);
  return files_->by_rank[static_cast<std::size_t>(rank)].name;
}

std::uint64_t TraceSet::bytes() const {
  if (packed() != nullptr) return packed()->calls();
  return std::accumulate(
      files_->by_rank.begin(), files_->by_rank.end(), std::uint64_t{0},
      [](std::uint64_t sum, const TraceFile& file) { return sum + file.size(); });
}

std::uint64_t TraceSet::bytes_of(std::int32_t rank) const {
  if (packed() != nullptr) return packed()->calls_of(rank);
  return files_->by_rank[static_cast<std::size_t>(rank)].size();
}

std::string TraceSet::precision() const {
  const bool is_exact = packed() == nullptr || packed()->tables().layout.precision.empty();
  return is_exact ? "exact" : packed()->tables().layout.precision;
}

bool TraceSet::is_cut() const {
  if (packed() == nullptr) return files_->is_cut;
  const std::vector<tit::Shape>& shapes = packed()->tables().shapes;
  return std::any_of(shapes.begin(), shapes.end(), [](const tit::Shape& shape) {
    return shape.text.find(kCutComment) != std::string::npos;
  });
}

bool TraceSet::has_matched_sources() const {
  const PackedAttributes* const all = packed() == nullptr ? nullptr : packed()->attributes();
  return all != nullptr && all->number_of(kMatchedAttribute);
}

bool TraceSet::sources_decide(std::int32_t rank) const {
  return has_matched_sources() && receives_compete(*packed(), reading_->grammar, rank);
}

std::optional<std::uint64_t> TraceSet::actions() const {
  return packed() != nullptr ? std::optional(packed()->actions()) : std::nullopt;
}

std::unique_ptr<RankReader> TraceSet::open(std::int32_t rank, CallTable& calls) const {
  const TraceOptions& options = reading_->options;
  const TraceGrammar& grammar = reading_->grammar;
  std::unique_ptr<RankReader> reader;
  if (packed() != nullptr) {
    reader = std::make_unique<PackedReader>(shared_from_this(), grammar, rank, *packed(), calls);
    if (has_matched_sources() && (options.sources_are_matched || sources_decide(rank))) {
      reader = std::make_unique<MatchedSourcesReader>(std::move(reader), *packed(), rank);
    }
  } else {
    const std::size_t buffer =
        std::clamp(kAllBuffers / static_cast<std::size_t>(ranks()), kMinBuffer, kMaxBuffer);
    reader = std::make_unique<TextReader>(shared_from_this(), grammar, rank,
                                          files_->by_rank[static_cast<std::size_t>(rank)],
                                          files_->are_parts, buffer, calls);
  }
  if (options.completions_are_free) {
    reader = std::make_unique<FreeCompletionsReader>(std::move(reader), calls);
  }
  const ComputeNoiseStream noise(options.compute_noise, rank);
  if (!noise.is_on() && options.speedups.empty() && options.volume_factors.empty()) return reader;
  std::optional<SpeedupStream> speedups;
  if (!options.speedups.empty()) speedups.emplace(options.speedups, calls);
  return std::make_unique<AdjustedReader>(std::move(reader), noise, std::move(speedups),
                                          options.volume_factors);
}

}  // namespace tisim
