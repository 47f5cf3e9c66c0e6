#include "trace/packed/unpack.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "trace/packed/format.hpp"
#include "trace/packed/text.hpp"
#include "trace/storage/text_file.hpp"

namespace tisim {

namespace {

constexpr std::size_t kAllTextBuffers = 64U << 20;  // of all ranks of one file together

// The place of a file of the trace; what is not inside `directory` is refused.
std::string place_of(const PackedFile& file, const std::string& directory, std::string_view name) {
  std::string place = place_inside(directory, name);
  if (place.empty()) file.damaged("the name of a file leads out of the directory");
  return place;
}

// All lines of all ranks in the order of their numbers.
void unpack_merged(const PackedFile& file, TextFile& into, LineProgress& done) {
  struct Source {
    std::unique_ptr<PackedText> lines;
    std::string line;
  };
  const std::size_t buffer =
      std::clamp(kAllTextBuffers / file.streams().size(), packed::kLeastBlock, TextFile::kBuffer);
  std::vector<Source> sources;
  using Next = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
  const auto advance = [&](std::size_t index) {
    Source& source = sources[index];
    source.line.clear();
    done.count_line();
    if (source.lines->next(source.line)) order.emplace(source.lines->number(), index);
  };
  for (const PackedFile::Stream& stream : file.streams()) {
    sources.push_back({std::make_unique<PackedText>(file, stream, buffer), {}});
    advance(sources.size() - 1);
  }
  bool newline = true;
  while (!order.empty()) {
    const std::size_t index = order.top().second;
    order.pop();
    into.text() += sources[index].line;
    into.end_line();
    newline = file.streams()[index].newline_at_end;
    advance(index);
  }
  into.finish(newline);
}

}  // namespace

void unpack_packed(const PackedFile& file, const std::string& directory, const Progress& progress) {
  LineProgress done(file.actions(), progress);
  const PackedLayout& layout = file.layout();
  if (!layout.index_name.empty()) {
    const auto index = create_file(place_of(file, directory, layout.index_name));
    write_at(*index, layout.index_text, 0, layout.index_name);
  }
  if (layout.merged) {
    TextFile into(place_of(file, directory, file.name(file.streams().front())));
    unpack_merged(file, into, done);
    return;
  }
  for (const PackedFile::Stream& stream : file.streams()) {
    TextFile into(place_of(file, directory, file.name(stream)));
    PackedText lines(file, stream, TextFile::kBuffer);
    while (lines.next(into.text())) {
      into.end_line();
      done.count_line();
    }
    into.finish(stream.newline_at_end);
  }
}

}  // namespace tisim
