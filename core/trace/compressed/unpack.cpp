#include "trace/compressed/unpack.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "tit/codec/error.hpp"
#include "trace/compressed/text.hpp"
#include "trace/storage/text_file.hpp"

namespace tisim {

namespace {

std::string place_in(const CompressedFile& file, const std::string& directory,
                     std::string_view name) {
  std::string place = place_inside(directory, name);
  if (place.empty()) file.damaged("the name of a file leads out of the directory");
  return place;
}

// All lines of all ranks in the order of their numbers.
void unpack_one_file(const CompressedFile& file, TextFile& into, LineProgress& done) {
  std::vector<std::unique_ptr<CompressedText>> sources;
  std::vector<std::string> lines(static_cast<std::size_t>(file.ranks()));
  using Next = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
  const auto advance = [&](std::size_t rank) {
    lines[rank].clear();
    done.count_line();
    if (sources[rank]->next(lines[rank])) order.emplace(sources[rank]->number(), rank);
  };
  for (std::int32_t rank = 0; rank < file.ranks(); ++rank) {
    sources.push_back(std::make_unique<CompressedText>(file, rank));
    advance(static_cast<std::size_t>(rank));
  }
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
    CompressedText lines(file, rank);
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
