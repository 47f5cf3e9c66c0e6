#include "trace/packed/unpack.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <queue>
#include <system_error>
#include <utility>
#include <vector>

#include "trace/error.hpp"
#include "trace/packed/attributes.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/volume_code.hpp"

namespace tisim {

PackedText::PackedText(const PackedFile& file, std::int32_t rank)
    : file_(&file),
      program_(&file.program(file.class_of(rank))),
      rank_(rank),
      position_(file.position_of(rank)),
      prefix_(std::to_string(rank) + " "),
      expansion_(program_->rank_class().grammar),
      column_(file, file.column_of(rank)),
      templates_(program_->rank_class().signatures.size()),
      has_columns_(program_->rank_class().has_volumes) {}

void PackedText::make(std::uint32_t call, Template& made) const {
  const tit::TraceTables& tables = file_->tables();
  const std::uint32_t number = program_->rank_class().signatures[call];
  const tit::Signature& signature = tables.signatures[number];
  const tit::Shape& shape = tables.shapes[signature.shape];
  made.is_made = true;
  made.is_silent = signature.shape == tit::kSilentShape;
  made.kind = tables.kinds[number];
  program_->numbers(call, position_, made.numbers);
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    if (signature.arguments[i].mode == tit::Mode::column) made.has_columns = true;
    if (shape.holes[i].mark == tit::kStepMark) {
      made.step = static_cast<std::uint64_t>(made.numbers[i]);
    }
  }
  if (made.has_columns || made.is_silent) return;
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) made.text = prefix_;
  tit::append_text(shape.text, made.numbers.data(), made.text);
}

std::uint64_t PackedText::value_at(std::uint32_t site) {
  const PackedFile::Site& found = file_->site(site);
  return found.varies ? column_.next(found.model) : found.value;
}

void PackedText::append_call(Template& call, std::string& out) {
  if (!call.has_columns) {
    out += call.text;
    number_ += call.step;
    return;
  }
  const tit::TraceTables& tables = file_->tables();
  const auto place = static_cast<std::uint32_t>(&call - templates_.data());
  const tit::Signature& signature = tables.signatures[program_->rank_class().signatures[place]];
  const tit::Shape& shape = tables.shapes[signature.shape];
  std::uint64_t step = 1;
  std::uint32_t site = site_;
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    if (signature.arguments[i].mode == tit::Mode::column) {
      call.numbers[i] = file_->argument_of(shape.holes[i], value_at(++site));
    }
    if (shape.holes[i].mark == tit::kStepMark) step = static_cast<std::uint64_t>(call.numbers[i]);
  }
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) out += prefix_;
  tit::append_text(shape.text, call.numbers.data(), out);
  number_ += step;
}

// The next call, whose template is made; values of its arguments follow in the column.
bool PackedText::begin_call(std::uint32_t& call, std::uint64_t& volume) {
  volume = 0;
  if (!expansion_.next(call)) return false;
  Template& made = templates_[call];
  if (!made.is_made) make(call, made);
  if (has_columns_ || made.has_columns) {
    site_ = file_->site_table().find(before_, made.kind);
    if (site_ == tit::SiteTable::kNone) {
      if (made.has_columns) file_->damaged("a call has no place for its values");
    } else if (has_columns_) {
      volume = file_->draws_volumes() ? file_->drawn_volume(site_, rank_, calls_) : value_at(site_);
    }
  }
  before_ = made.kind + 1;
  ++calls_;
  return true;
}

bool PackedText::next_call(std::uint32_t& call, std::uint64_t& volume) {
  if (!begin_call(call, volume)) return false;
  if (templates_[call].has_columns) {
    std::string line;
    append_call(templates_[call], line);
  }
  return true;
}

bool PackedText::next(std::string& out) {
  if (waiting_ != nullptr) {
    append_call(*waiting_, out);
    waiting_ = nullptr;
    return true;
  }
  std::uint32_t call = 0;
  std::uint64_t volume = 0;
  while (begin_call(call, volume)) {
    Template& made = templates_[call];
    if (volume == 0 && made.is_silent) continue;
    if (volume == 0) {
      append_call(made, out);
      return true;
    }
    out.append(prefix_).append("compute ");
    tit::append_volume(file_->volume_of(volume - 1), out);
    ++number_;
    if (!made.is_silent) waiting_ = &made;
    return true;
  }
  return false;
}

namespace {

// Collects the text of a file until it is worth a write.
class TextFile {
 public:
  static constexpr std::size_t kBuffer = 256U << 10;

  // Throws TraceError when the file cannot be made, and in what follows when it cannot be written.
  explicit TextFile(const std::string& path) : path_(path), file_(create_file(path)) {}

  // To append a line to; end_line() follows.
  std::string& text() { return text_; }

  void end_line() {
    text_ += '\n';
    if (text_.size() >= kBuffer) flush(text_.size() - 1);
  }

  void finish(bool newline_at_end) {
    if (!newline_at_end && !text_.empty()) text_.pop_back();
    flush(text_.size());
  }

 private:
  // The last newline stays back: the file may end without it.
  void flush(std::size_t count) {
    write_at(*file_, std::string_view(text_).substr(0, count), written_, path_);
    written_ += count;
    text_.erase(0, count);
  }

  std::string path_;
  std::shared_ptr<const Descriptor> file_;
  std::string text_;
  std::uint64_t written_ = 0;
};

// Tells now and then how many of all lines have been written.
class LineProgress {
 public:
  LineProgress(std::uint64_t lines, const Progress& progress)
      : progress_(&progress), all_(static_cast<double>(lines == 0 ? 1 : lines)) {}

  void count_line() {
    if (++lines_ % kInterval == 0) tell(*progress_, static_cast<double>(lines_) / all_);
  }

 private:
  static constexpr std::uint64_t kInterval = 4096;

  const Progress* progress_;
  double all_;
  std::uint64_t lines_ = 0;
};

// The place of a file called `name` inside `directory`; directories that it needs are made. Throws
// TraceError, also when the name leads out of the directory.
std::string place_in(const PackedFile& file, const std::string& directory, std::string_view name) {
  const std::filesystem::path path(name);
  const bool leads_out =
      path.is_absolute() || path.empty() ||
      std::any_of(path.begin(), path.end(),
                  [](const std::filesystem::path& part) { return part == ".."; });
  if (leads_out) file.damaged("the name of a file leads out of the directory");
  const std::filesystem::path whole = std::filesystem::path(directory) / path;
  std::error_code error;
  std::filesystem::create_directories(whole.parent_path(), error);
  if (error) throw TraceError(whole.parent_path(), 0, "cannot be made: " + error.message());
  return whole;
}

// The lines of a rank; before each with attributes, a comment that has them.
class AnnotatedText {
 public:
  AnnotatedText(const PackedFile& file, std::int32_t rank)
      : attributes_(file.attributes()), lines_(file, rank) {
    if (attributes_ == nullptr) return;
    walk_ = std::make_unique<AttributeWalk>(file, rank);
    is_at_line_ = walk_->next();
  }

  // Appends the next line, and any comment before it, to `out`; false at the end.
  bool next(std::string& out) {
    const std::size_t start = out.size();
    if (!lines_.next(out)) return false;
    if (is_at_line_ && walk_->line() == lines_.number()) {
      out.insert(start, comment());
      is_at_line_ = walk_->next();
    }
    return true;
  }
  // The number in its file of the line that came last, comments with attributes apart.
  std::uint64_t number() const { return lines_.number(); }

 private:
  std::string comment() const {
    std::string text = "# @";
    for (const AttributeWalk::Value& value : walk_->values()) {
      text += " " + attributes_->tables().attributes[value.attribute].name + "=" +
              std::to_string(value.value);
    }
    return text + "\n";
  }

  const PackedAttributes* attributes_;
  PackedText lines_;
  std::unique_ptr<AttributeWalk> walk_;
  bool is_at_line_ = false;
};

// The texts that attributes name, as comments.
std::string table_of_texts(const PackedFile& file) {
  const PackedAttributes* const attributes = file.attributes();
  std::string text;
  if (attributes == nullptr) return text;
  for (std::size_t i = 0; i < attributes->tables().texts.size(); ++i) {
    text += "# @ " + std::to_string(i) + " " + attributes->tables().texts[i] + "\n";
  }
  return text;
}

// All lines of all ranks in the order of their numbers.
void unpack_one_file(const PackedFile& file, TextFile& into, LineProgress& done) {
  std::vector<std::unique_ptr<AnnotatedText>> sources;
  std::vector<std::string> lines(static_cast<std::size_t>(file.ranks()));
  using Next = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
  const auto advance = [&](std::size_t rank) {
    lines[rank].clear();
    done.count_line();
    if (sources[rank]->next(lines[rank])) order.emplace(sources[rank]->number(), rank);
  };
  for (std::int32_t rank = 0; rank < file.ranks(); ++rank) {
    sources.push_back(std::make_unique<AnnotatedText>(file, rank));
    advance(static_cast<std::size_t>(rank));
  }
  into.text() += table_of_texts(file);
  bool newline = true;
  while (!order.empty()) {
    const std::size_t rank = order.top().second;
    order.pop();
    into.text() += lines[rank];
    into.end_line();
    newline = file.has_last_newline(static_cast<std::int32_t>(rank));
    advance(rank);
  }
  into.finish(newline);
}

void unpack_files(const PackedFile& file, const std::string& directory, const Progress& progress) {
  LineProgress done(file.actions(), progress);
  const tit::FileLayout& layout = file.tables().layout;
  if (!layout.index_name.empty()) {
    const auto index = create_file(place_in(file, directory, layout.index_name));
    write_at(*index, layout.index_text, 0, layout.index_name);
  }
  if (layout.merged) {
    TextFile into(place_in(file, directory, file.name(0)));
    unpack_one_file(file, into, done);
    return;
  }
  for (std::int32_t rank = 0; rank < file.ranks(); ++rank) {
    TextFile into(place_in(file, directory, file.name(rank)));
    if (rank == 0) into.text() += table_of_texts(file);
    AnnotatedText lines(file, rank);
    while (lines.next(into.text())) {
      into.end_line();
      done.count_line();
    }
    into.finish(file.has_last_newline(rank));
  }
}

}  // namespace

void unpack(TraceFile packed, const std::string& directory, const Progress& progress) {
  const PackedFile file(std::move(packed));
  try {
    unpack_files(file, directory, progress);
  } catch (const tit::FormatError& error) {
    file.damaged(error.what());
  }
}

}  // namespace tisim
