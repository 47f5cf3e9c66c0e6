#include "trace/inspect/inspection.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/largest_first.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/inspect/class_counter.hpp"
#include "trace/inspect/statistics.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/vocabulary/vocabulary.hpp"
#include "trace/walk/communicators.hpp"
#include "trace/walk/rank_requests.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

namespace {

constexpr std::string_view kByRank = "<by rank>";
constexpr std::string_view kPeer = "<peer>";
constexpr std::string_view kColumn = "*";

void append_relative(std::int64_t value, std::string& out) {
  out += "rank";
  if (value > 0) out += '+';
  if (value != 0) out += std::to_string(value);
}

void append_argument(const tit::Argument& argument, tit::Mark mark, std::string& out) {
  switch (argument.mode) {
    case tit::Mode::constant:
      if (mark == tit::kVolumeMark) {
        tit::append_volume(static_cast<std::uint64_t>(argument.value), out);
      } else {
        out += std::to_string(argument.value);
      }
      break;
    case tit::Mode::relative:
      append_relative(argument.value, out);
      break;
    case tit::Mode::exclusive:
      out.append("rank^").append(std::to_string(argument.value));
      break;
    case tit::Mode::by_rank:
      out += kByRank;
      break;
    case tit::Mode::column:
      out += kColumn;
      break;
  }
}

void append_site_argument(const tit::Shape& shape, std::size_t hole, const tit::Argument& argument,
                          std::string& out) {
  const bool varies = argument.mode == tit::Mode::column;
  if (shape.is_rank(hole) && !varies) {
    out += kPeer;
  } else if (shape.holes[hole].mark == tit::kVolumeMark) {
    out += kColumn;
  } else {
    append_argument(argument, shape.holes[hole].mark, out);
  }
}

// The text of a shape; `append(hole, text)` writes the contents of a hole.
template <class Append>
std::string filled(const tit::Shape& shape, Append append) {
  std::string out;
  std::size_t hole = 0;
  for (std::size_t i = 0; i < shape.text.size(); ++i) {
    const char c = shape.text[i];
    if (c < 0 || c >= tit::kFirstPlain) {
      out += c;
      continue;
    }
    switch (c) {
      case tit::kLiteralMark:
        out += shape.text[++i];
        break;
      case tit::kPaddedMark:
        ++i;
        append(hole++, out);
        break;
      case tit::kNumberMark:
      case tit::kVolumeMark:
        append(hole++, out);
        break;
      case tit::kStepMark:
        ++hole;
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace

std::string signature_text(const tit::TraceTables& tables, std::uint32_t signature) {
  const tit::Signature& call_signature = tables.signatures[signature];
  const tit::Shape& shape = tables.shapes[call_signature.shape];
  return filled(shape, [&](std::size_t hole, std::string& out) {
    append_argument(call_signature.arguments[hole], shape.holes[hole].mark, out);
  });
}

std::string site_text(const tit::TraceTables& tables, std::uint32_t signature) {
  const tit::Signature& call_signature = tables.signatures[signature];
  const tit::Shape& shape = tables.shapes[call_signature.shape];
  return filled(shape, [&](std::size_t hole, std::string& out) {
    append_site_argument(shape, hole, call_signature.arguments[hole], out);
  });
}

// Messages of persistent requests, which depend on the requests that a rank has started before.

// Reads the ranks that start persistent requests call by call: they are few.
class StartedMessages {
 public:
  // `file` must outlive it.
  explicit StartedMessages(const PackedFile& file) : file_(file) {}

  // Adds the messages that `start` and `startall` send on a rank, `times` times. Throws TraceError.
  void count(std::int32_t rank, std::uint64_t times, Statistics& into);

 private:
  const PackedFile& file_;
  std::shared_ptr<const TraceSet> set_;  // the same file, opened on demand
  std::optional<Communicators> communicators_;
};

void StartedMessages::count(std::int32_t rank, std::uint64_t times, Statistics& into) {
  if (!set_) {
    set_ = TraceSet::open({file_.file()}, file_.file().name);
    communicators_ = Communicators::of(*set_, {});
  }
  RankWalk walk(*set_, *communicators_, rank);
  RankRequests requests;
  while (walk.next()) {
    const Kind kind = walk.op().kind;
    requests.take(walk);
    if (role_of(kind) != Role::start && role_of(kind) != Role::start_all) continue;
    for (const TraceMessage& message : requests.messages()) {
      if (!message.is_receive) into.take_message(traits_of(kind).name, message.bytes, times);
    }
  }
}

namespace {

constexpr std::size_t kMaxClasses = 1000;
constexpr std::size_t kMaxSignatures = 1000;
constexpr std::size_t kMaxSites = 1000;
constexpr std::size_t kMaxLoops = 200;
constexpr std::size_t kMaxLoopsOfClass = 20;
constexpr std::size_t kMaxStretches = 16;
constexpr std::size_t kMaxOutlines = 8;        // classes
constexpr std::size_t kMaxOutlineLines = 400;  // of an outline

class Inspector {
 public:
  Inspector(const PackedFile& file, bool with_columns, const Progress& progress)
      : file_(file),
        tables_(file.tables()),
        with_columns_(with_columns),
        progress_(progress),
        vocabulary_({}),
        grammar_{.ranks = file.ranks(), .dialect = file.dialect(), .vocabulary = &vocabulary_},
        reader_(file, grammar_),
        sites_(file),
        statistics_(sites_.count() + 1),
        started_(file),
        call_paths_(file),
        signature_calls_(tables_.signatures.size()),
        signature_classes_(tables_.signatures.size()),
        signature_ranks_(tables_.signatures.size()),
        signature_seen_(tables_.signatures.size()) {}

  Inspection run() {
    for (const tit::RankColumn& column : tables_.columns) {
      for (const tit::Block& block : column.blocks) values_ += static_cast<double>(block.values);
    }
    found_.complete = with_columns_ || (values_ == 0 && !file_.draws_volumes());
    for (std::uint32_t i = 0; i < tables_.classes.size(); ++i) take_class(i);
    found_.sections = file_.sections();
    found_.ranks = file_.ranks();
    found_.actions = file_.actions();
    found_.comments = statistics_.comments();
    found_.unreadable = statistics_.unreadable();
    for (const auto& [name, total] : statistics_.actions()) {
      if (total.actions > 0) found_.by_action.emplace_back(name, total);
    }
    finish_classes();
    finish_loops();
    finish_signatures();
    finish_sites();
    found_.call_paths = call_paths_.summaries();
    found_.modules = module_comments(tables_);
    found_.call_path_count = found_.call_paths.size();
    keep_largest(found_.call_paths, kMaxSites,
                 [](const CallPathSummary& summary) { return summary.calls; });
    return std::move(found_);
  }

 private:
  void take_class(std::uint32_t number) {
    ClassCounter counter(file_, number, reader_, sites_, statistics_);
    counter.count();
    if (with_columns_) {
      for (const std::uint32_t position : counter.positions_with_values()) {
        counter.read_column(position);
        const std::int32_t rank = file_.ranks_of(number)[position];
        for (const tit::Block& block : file_.column_of(rank).column->blocks) {
          values_read_ += static_cast<double>(block.values);
        }
        report_progress(progress_, values_read_ / values_);
      }
    }
    call_paths_.take(number, counter);
    if (counter.starts_requests()) count_started(number, counter.has_same_requests());
    const tit::RankClass& made = tables_.classes[number];
    std::vector<std::string> actions;
    for (std::uint32_t call = 0; call < made.signatures.size(); ++call) {
      actions.push_back(counter.action(call));
      const std::uint32_t signature = made.signatures[call];
      signature_calls_[signature] += counter.times(call) * file_.ranks_of(number).size();
      // Several calls of a class may have one signature but different vectors.
      if (signature_seen_[signature] == number + 1) continue;
      signature_seen_[signature] = number + 1;
      signature_classes_[signature] += 1;
      signature_ranks_[signature] += file_.ranks_of(number).size();
    }
    const ProgramStructure structure(made, actions);
    summarise(number, structure);
    take_loops(number, structure);
    tit::Bytes grammar;
    made.grammar.write(grammar);
    found_.grammar_bytes += grammar.data.size();
    tit::Bytes vectors;
    for (const tit::RankVector& vector : made.vectors) vector.write(vectors);
    found_.vector_bytes += vectors.data.size();
  }

  void count_started(std::uint32_t number, bool same) {
    const std::vector<std::int32_t>& ranks = file_.ranks_of(number);
    if (same) {
      started_.count(ranks.front(), ranks.size(), statistics_);
    } else {
      for (const std::int32_t rank : ranks) started_.count(rank, 1, statistics_);
    }
  }

  void summarise(std::uint32_t number, const ProgramStructure& structure) {
    const tit::RankClass& made = tables_.classes[number];
    ClassSummary summary;
    summary.number = number;
    summary.ranks = file_.ranks_of(number).size();
    summary.calls = structure.calls();
    summary.distinct = made.signatures.size();
    summary.rules = made.grammar.rules.size();
    summary.items = made.grammar.items();
    summary.longest_loop = structure.longest_loop();
    found_.classes.push_back(std::move(summary));
  }

  void take_loops(std::uint32_t number, const ProgramStructure& structure) {
    std::uint64_t others = 0;
    const std::uint64_t ranks = file_.ranks_of(number).size();
    for (ProgramLoop& loop : structure.loops(kMaxLoopsOfClass, others)) {
      auto key = std::make_tuple(loop.iterations, loop.calls, loop.actions);
      LoopInClasses& summary = loops_[std::move(key)];
      const std::uint64_t entered = summary.loop.entered + loop.entered * ranks;
      if (summary.classes == 0) summary.loop = std::move(loop);
      summary.loop.entered = entered;
      // A class may enter the same loop from several places.
      if (summary.last_class != number + 1) {
        summary.last_class = number + 1;
        ++summary.classes;
        summary.ranks += ranks;
      }
    }
    found_.loop_count += others;
  }

  void finish_classes() {
    found_.class_count = found_.classes.size();
    keep_largest(found_.classes, kMaxClasses,
                 [](const ClassSummary& summary) { return summary.ranks * summary.calls; });
    std::size_t outlines = 0;
    for (ClassSummary& summary : found_.classes) {
      find_stretches(summary);
      if (outlines++ >= kMaxOutlines) continue;
      const std::vector<std::string> unnamed;
      summary.outline =
          ProgramStructure(tables_.classes[summary.number], unnamed).outline(kMaxOutlineLines);
    }
  }

  void find_stretches(ClassSummary& summary) const {
    std::pair<std::int32_t, std::int32_t> stretch{-2, -2};
    const auto end = [&] {
      if (stretch.first < 0) return;
      ++summary.stretch_count;
      if (summary.stretches.size() < kMaxStretches) summary.stretches.push_back(stretch);
    };
    for (const std::int32_t rank : file_.ranks_of(summary.number)) {
      if (rank != stretch.second + 1) {
        end();
        stretch.first = rank;
      }
      stretch.second = rank;
    }
    end();
  }

  void finish_loops() {
    for (auto& entry : loops_) found_.loops.push_back(std::move(entry.second));
    found_.loop_count += found_.loops.size();
    keep_largest(found_.loops, kMaxLoops,
                 [](const LoopSummary& summary) { return summary.loop.all_calls(); });
  }

  // Signatures that differ only in the distance of lines in a merged file have the same text.
  void finish_signatures() {
    std::map<std::string, SignatureSummary> by_text;
    for (std::uint32_t i = 0; i < tables_.signatures.size(); ++i) {
      if (tables_.signatures[i].shape == tit::kSilentShape) continue;
      std::string text = signature_text(tables_, i);
      SignatureSummary& summary = by_text[text];
      summary.text = std::move(text);
      summary.calls += signature_calls_[i];
      summary.classes += signature_classes_[i];
      summary.ranks += signature_ranks_[i];
    }
    for (auto& entry : by_text) found_.signatures.push_back(std::move(entry.second));
    found_.signature_count = found_.signatures.size();
    keep_largest(found_.signatures, kMaxSignatures,
                 [](const SignatureSummary& summary) { return summary.calls; });
  }

  void finish_sites() {
    std::vector<std::string> texts(tables_.kinds_count);
    for (std::uint32_t i = 0; i < tables_.signatures.size(); ++i) {
      if (tables_.signatures[i].shape == tit::kSilentShape) continue;
      std::string& text = texts[tables_.kinds[i]];
      if (text.empty()) text = site_text(tables_, i);
    }
    for (std::size_t i = 0; i < statistics_.sites().size(); ++i) {
      const SiteTotal& total = statistics_.sites()[i];
      if (total.calls == 0 && total.volumes.count == 0) continue;
      if (i == sites_.end()) {
        found_.sites.push_back({"", "", total});
      } else {
        found_.sites.push_back({texts[sites_.kind_of(i)], std::string(sites_.path_of(i)), total});
      }
    }
    found_.site_count = found_.sites.size();
    keep_largest(found_.sites, kMaxSites,
                 [](const SiteSummary& summary) { return summary.total.calls; });
  }

  struct LoopInClasses : LoopSummary {
    std::uint32_t last_class = 0;  // plus 1
  };

  const PackedFile& file_;
  const tit::TraceTables& tables_;
  bool with_columns_;
  const Progress& progress_;
  Vocabulary vocabulary_;
  TraceGrammar grammar_;
  CallReader reader_;
  CallSites sites_;
  Statistics statistics_;
  StartedMessages started_;
  CallPathCounter call_paths_;
  std::vector<std::uint64_t> signature_calls_;
  std::vector<std::uint64_t> signature_classes_;
  std::vector<std::uint64_t> signature_ranks_;
  std::vector<std::uint32_t> signature_seen_;  // the last class, plus 1
  std::map<
      std::tuple<std::uint64_t, std::uint64_t, std::vector<std::pair<std::string, std::uint64_t>>>,
      LoopInClasses>
      loops_;
  double values_ = 0;  // in columns
  double values_read_ = 0;
  Inspection found_;
};

}  // namespace

Inspection inspect(const PackedFile& file, bool with_columns, const Progress& progress) {
  return Inspector(file, with_columns, progress).run();
}

}  // namespace tisim
