#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "trace/compressed/attributes.hpp"
#include "trace/compressed/text.hpp"
#include "trace/storage/text_file.hpp"
#include "trace/tit/codec/error.hpp"

namespace tisim {

namespace {

std::string place_in(const CompressedFile& file, const std::string& directory,
                     std::string_view name) {
  std::string place = place_inside(directory, name);
  if (place.empty()) file.damaged("the name of a file leads out of the directory");
  return place;
}

// The lines of a rank; before each with attributes, a comment that has them.
class AnnotatedText {
 public:
  AnnotatedText(const CompressedFile& file, std::int32_t rank)
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

  const CompressedAttributes* attributes_;
  CompressedText lines_;
  std::unique_ptr<AttributeWalk> walk_;
  bool is_at_line_ = false;
};

// The texts that attributes name, as comments.
std::string table_of_texts(const CompressedFile& file) {
  const CompressedAttributes* const attributes = file.attributes();
  std::string text;
  if (attributes == nullptr) return text;
  for (std::size_t i = 0; i < attributes->tables().texts.size(); ++i) {
    text += "# @ " + std::to_string(i) + " " + attributes->tables().texts[i] + "\n";
  }
  return text;
}

// All lines of all ranks in the order of their numbers.
void unpack_one_file(const CompressedFile& file, TextFile& into, LineProgress& done) {
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

void unpack_files(const CompressedFile& file, const std::string& directory,
                  const Progress& progress) {
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

void unpack_compressed(const CompressedFile& file, const std::string& directory,
                       const Progress& progress) {
  try {
    unpack_files(file, directory, progress);
  } catch (const tit::FormatError& error) {
    file.damaged(error.what());
  }
}

}  // namespace tisim
