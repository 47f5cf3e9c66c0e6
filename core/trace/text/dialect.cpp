#include "trace/text/dialect.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "trace/grammar/words.hpp"
#include "trace/text/line_buffer.hpp"
#include "trace/vocabulary/datatype.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

namespace {

constexpr std::size_t kFilesLookedAt = 16;
constexpr std::uint64_t kBytesLookedAt = 1U << 20;  // of a file
constexpr std::size_t kBufferSize = 16U << 10;

enum class Evidence : std::uint8_t { none, legacy_name, modern, legacy };

// Names that only SimGrid before version 3.20 has.
constexpr std::array<std::string_view, 12> kLegacyNames = {
    "Isend",     "Irecv",     "waitAll",    "allReduce",     "allToAll", "allToAllV",
    "allToAllv", "allGather", "allGatherV", "reduceScatter", "gatherV",  "allGatherv"};

bool may_be_type(std::string_view word) {
  std::int64_t value = 0;
  return read_whole(word, value) == NumberFault::none && type_width(value) != kNoType;
}

Evidence of_point_to_point(const Action& action, std::span<const std::string_view> arguments) {
  switch (arguments.size()) {
    case 1:
      return action.form == Form::receive ? Evidence::legacy : Evidence::none;
    case 2:
      return Evidence::legacy;
    case 3:
      return may_be_type(arguments.back()) ? Evidence::none : Evidence::modern;
    case 4:
      return Evidence::modern;
    default:
      return Evidence::none;
  }
}

// True if a word is an argument that legacy traces never have.
bool is_named(std::string_view word) {
  return word.starts_with("comm=") || word.starts_with("request=") ||
         word.starts_with("requests=") || word.starts_with("completed=") ||
         word.starts_with("layer=");
}

Evidence of_words(const Vocabulary& vocabulary, std::span<const std::string_view> words) {
  if (words.size() < 2) return Evidence::none;
  if (words.size() > 2 && is_named(words.back())) return Evidence::modern;
  const Action* const action = vocabulary.find(words[1]);
  if (action == nullptr) return Evidence::none;
  Evidence evidence = Evidence::none;
  if (action->form == Form::send || action->form == Form::receive) {
    evidence = of_point_to_point(*action, words.subspan(2));
  } else if (action->form == Form::request) {
    evidence = words.size() == 2   ? Evidence::legacy
               : words.size() == 5 ? Evidence::modern
                                   : Evidence::none;
  }
  if (evidence != Evidence::none) return evidence;
  return std::find(kLegacyNames.begin(), kLegacyNames.end(), words[1]) != kLegacyNames.end()
             ? Evidence::legacy_name
             : Evidence::none;
}

bool is_version(std::string_view line) {
  const std::size_t at = line.find_first_not_of("# \t");
  return !line.empty() && line.front() == '#' && at != std::string_view::npos &&
         line.substr(at, 8) == "version:";
}

Evidence of_file(const TraceFile& file, const Vocabulary& vocabulary,
                 std::vector<std::string_view>& words) {
  LineBuffer lines(file, kBufferSize);
  Evidence strongest = Evidence::none;
  while (lines.position() < kBytesLookedAt && lines.refill()) {
    for (const char* p = lines.begin(); p != lines.end();) {
      const std::string_view line = LineBuffer::line_at(p, lines.end());
      p += line.size() + 1;
      if (is_version(line)) return Evidence::modern;
      split_words(line, words);
      const Evidence evidence = of_words(vocabulary, words);
      if (evidence == Evidence::modern || evidence == Evidence::legacy) return evidence;
      strongest = std::max(strongest, evidence);
    }
  }
  return strongest;
}

}  // namespace

Dialect detect_dialect(std::span<const TraceFile> files) {
  const Vocabulary vocabulary({});
  std::vector<std::string_view> words;
  Evidence strongest = Evidence::none;
  for (const TraceFile& file : files.first(std::min(files.size(), kFilesLookedAt))) {
    const Evidence evidence = of_file(file, vocabulary, words);
    if (evidence == Evidence::modern) return Dialect::modern;
    if (evidence == Evidence::legacy) return Dialect::legacy;
    strongest = std::max(strongest, evidence);
  }
  return strongest == Evidence::legacy_name ? Dialect::legacy : Dialect::modern;
}

}  // namespace tisim
