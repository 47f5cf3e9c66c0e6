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

void PackedText::append_comment(const std::vector<PackedAttribute>& values,
                                std::string& out) const {
  if (values.empty()) return;
  out += "# @";
  for (const PackedAttribute& value : values) {
    out.append(" ").append(file_->attributes()->tables().attributes[value.attribute].name);
    out.append("=").append(std::to_string(value.value));
  }
  out += '\n';
}

void PackedText::append_call(std::string& out) {
  append_comment(calls_.at(), out);
  const std::string& shape = file_->tables().shapes[calls_.shape()].text;
  const auto append = [&](std::string& to) {
    if (shape.empty() || shape.front() != tit::kNoRankMark) to += prefix_;
    tit::append_text(shape, calls_.numbers().data(), to);
  };
  if (calls_.has_columns()) return append(out);
  if (texts_.size() <= calls_.call_index()) texts_.resize(calls_.call_index() + std::size_t{1});
  std::string& text = texts_[calls_.call_index()];
  if (text.empty()) append(text);
  out += text;
}

bool PackedText::next(std::string& out) {
  if (is_before_ && !calls_.is_silent()) {
    is_before_ = false;
    append_call(out);
    return true;
  }
  while (calls_.next()) {
    is_before_ = calls_.volume() != 0;
    if (is_before_) {
      append_comment(calls_.before(), out);
      out.append(prefix_).append("compute ");
      tit::append_volume(file_->volume_of(calls_.volume() - 1), out);
      return true;
    }
    if (calls_.is_silent()) continue;
    append_call(out);
    return true;
  }
  return false;
}

namespace {

// Buffers the text of a file until a write is worthwhile.
class TextFile {
 public:
  static constexpr std::size_t kBuffer = 256U << 10;

  // Throws TraceError if the file cannot be created; later functions, if it cannot be written.
  explicit TextFile(const std::string& path) : path_(path), file_(create_file(path)) {}

  // Append a line to it, then call end_line().
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
  // The last newline is held back: the file may end without it.
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

// Occasionally reports the share of lines written.
class LineProgress {
 public:
  LineProgress(std::uint64_t lines, const Progress& progress)
      : progress_(&progress), all_(static_cast<double>(lines == 0 ? 1 : lines)) {}

  void count_line() {
    if (++lines_ % kInterval == 0) report_progress(*progress_, static_cast<double>(lines_) / all_);
  }

 private:
  static constexpr std::uint64_t kInterval = 4096;

  const Progress* progress_;
  double all_;
  std::uint64_t lines_ = 0;
};

// The path of the file `name` in `directory`; creates the required directories. Throws TraceError,
// also if the name leads out of the directory.
std::string place_in(const PackedFile& file, const std::string& directory, std::string_view name) {
  const std::filesystem::path path(name);
  const bool leads_out =
      path.is_absolute() || path.empty() ||
      std::any_of(path.begin(), path.end(),
                  [](const std::filesystem::path& part) { return part == ".."; });
  if (leads_out) file.damaged("the name of a file leads outside the directory");
  const std::filesystem::path whole = std::filesystem::path(directory) / path;
  std::error_code error;
  std::filesystem::create_directories(whole.parent_path(), error);
  if (error) throw TraceError(whole.parent_path(), 0, "cannot be created: " + error.message());
  return whole;
}

// The texts that attributes refer to, as comments.
std::string table_of_texts(const PackedFile& file) {
  const PackedAttributes* const attributes = file.attributes();
  std::string text;
  if (attributes == nullptr) return text;
  for (std::size_t i = 0; i < attributes->tables().texts.size(); ++i) {
    text += "# @ " + std::to_string(i) + " " + attributes->tables().texts[i] + "\n";
  }
  return text;
}

// Writes all lines of all ranks in the order of their numbers.
void unpack_one_file(const PackedFile& file, TextFile& into, LineProgress& done) {
  std::vector<std::unique_ptr<PackedText>> sources;
  std::vector<std::string> lines(static_cast<std::size_t>(file.ranks()));
  using Next = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
  const auto advance = [&](std::size_t rank) {
    lines[rank].clear();
    done.count_line();
    if (sources[rank]->next(lines[rank])) order.emplace(sources[rank]->number(), rank);
  };
  for (std::int32_t rank = 0; rank < file.ranks(); ++rank) {
    sources.push_back(std::make_unique<PackedText>(file, rank, true));
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
    PackedText lines(file, rank, true);
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
