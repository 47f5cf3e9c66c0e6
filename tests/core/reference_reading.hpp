// Test helpers: reads a trace in a slow and simple way, for comparison with the reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/trace_testing.hpp"
#include "trace/grammar/line_parser.hpp"

namespace tisim::test {

// Outcome of reading a rank: its operations, and the error that ended them, if any.
struct Outcome {
  std::vector<Op> ops;
  std::string error;

  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.error == b.error &&
           std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same);
  }
};

// Reads with the set's own reader, in batches of `batch`. An error discards its batch, so only the
// preceding operations are compared.
inline Outcome outcome_of_reader(const TraceSet& set, std::int32_t rank, std::size_t batch) {
  Outcome outcome;
  CallTable calls;
  try {
    const auto reader = set.open(rank, calls);
    std::vector<Op> ops(batch);
    bool over = false;
    while (const std::size_t count = reader->read(ops.data(), batch)) {
      if (over) outcome.error = "a batch that is not full is not the last";
      over = count < batch;
      outcome.ops.insert(outcome.ops.end(), ops.begin(),
                         ops.begin() + static_cast<std::ptrdiff_t>(count));
    }
  } catch (const TraceError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// Reads with LineParser alone, line by line; `text` is the file of `rank`.
inline Outcome outcome_of_parser(const TraceGrammar& grammar, std::int32_t rank,
                                 std::string_view text, const std::string& name) {
  Outcome outcome;
  CallTable calls;
  LineParser parser(grammar, rank, name, calls);
  std::uint64_t number = 0;
  try {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const bool cut = end == text.size();
      Op ops[LineParser::kMaxOps];
      const std::size_t made = parser.parse(text.substr(0, end), ++number, cut, ops);
      outcome.ops.insert(outcome.ops.end(), ops, ops + made);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  } catch (const TraceError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// Returns true if the reader of rank 0 of `ranks` and the parser agree on `text`.
inline bool reads_alike(const std::string& text, std::int32_t ranks, Dialect dialect,
                        std::size_t batch) {
  std::vector<std::string> texts = {"0 init\n" + text};
  for (std::int32_t rank = 1; rank < ranks; ++rank) {
    texts.push_back(std::to_string(rank) + " init\n");
  }
  const auto set = TraceSet::open(files_of(texts), "sample", dialect);
  const Vocabulary vocabulary({});
  const TraceGrammar grammar{.ranks = ranks, .dialect = dialect, .vocabulary = &vocabulary};
  Outcome read = outcome_of_reader(*set, 0, batch);
  Outcome parsed = outcome_of_parser(grammar, 0, texts.front(), "rank-0");
  if (!read.error.empty()) parsed.ops.resize(std::min(parsed.ops.size(), read.ops.size()));
  return read == parsed;
}

}  // namespace tisim::test
