// Test helpers for traces: files from text, and all operations of a rank.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "trace/archive/trace_set.hpp"
#include "trace/error.hpp"
#include "trace/trace_file.hpp"

namespace tisim::test {

inline TraceFile file_of(std::string_view text, std::string name = "trace") {
  TraceFile file;
  file.descriptor = make_temporary_file();
  write_at(*file.descriptor, text, 0, name);
  file.name = std::move(name);
  return file;
}

// One file per rank, named rank-0, rank-1, ...
inline std::vector<TraceFile> files_of(const std::vector<std::string>& texts) {
  std::vector<TraceFile> files;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    files.push_back(file_of(texts[i], std::string("rank-").append(std::to_string(i))));
  }
  return files;
}

// A trace with a file per rank, whose lines omit the rank and are separated by ';'.
inline std::shared_ptr<const TraceSet> trace_of(const std::vector<std::string>& ranks,
                                                Dialect dialect = Dialect::modern) {
  std::vector<std::string> texts;
  for (const std::string& program : ranks) {
    const std::string prefix = std::to_string(texts.size()) + " ";
    std::istringstream lines(program);
    std::string& text = texts.emplace_back();
    for (std::string line; std::getline(lines >> std::ws, line, ';');) text += prefix + line + "\n";
  }
  return TraceSet::open(files_of(texts), "trace", dialect);
}

inline std::vector<Op> read_all(const TraceSet& set, std::int32_t rank, CallTable& calls,
                                std::size_t batch = 64) {
  const auto reader = set.open(rank, calls);
  std::vector<Op> all;
  std::vector<Op> ops(batch);
  while (const std::size_t count = reader->read(ops.data(), batch)) {
    all.insert(all.end(), ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

// A trace of `ranks` ranks of which only rank 0 has actions.
struct Sample {
  // From `lines`, without the rank.
  explicit Sample(const std::vector<std::string>& lines, std::int32_t ranks = 4,
                  Dialect dialect = Dialect::modern, const TraceOptions& options = {}) {
    std::string text;
    for (const std::string& line : lines) text.append("0 ").append(line).append("\n");
    open(std::move(text), ranks, dialect, options);
  }

  // From the text of a whole file.
  static Sample of_file(std::string text, std::int32_t ranks) {
    Sample sample;
    sample.open(std::move(text), ranks, Dialect::modern, {});
    return sample;
  }

  const Call& call(std::size_t op) const { return calls[static_cast<std::uint32_t>(ops[op].call)]; }

  std::shared_ptr<const TraceSet> set;
  CallTable calls;
  std::vector<Op> ops;

 private:
  Sample() = default;

  void open(std::string text, std::int32_t ranks, Dialect dialect, const TraceOptions& options) {
    std::vector<std::string> texts = {std::move(text)};
    for (std::int32_t rank = 1; rank < ranks; ++rank) {
      texts.push_back(std::to_string(rank) + " init\n");
    }
    set = TraceSet::open(files_of(texts), "sample", dialect, options);
    ops = read_all(*set, 0, calls);
  }
};

// Returns true if two operations are equal in every field.
inline bool same(const Op& a, const Op& b) {
  return a.kind == b.kind && a.flags == b.flags && a.comm == b.comm && a.peer == b.peer &&
         a.bytes == b.bytes && a.tag == b.tag && a.line == b.line;
}

}  // namespace tisim::test
