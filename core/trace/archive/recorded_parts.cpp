#include "trace/archive/recorded_parts.hpp"

#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>

#include "trace/error.hpp"
#include "trace/packed/file.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/recorder/part_set.hpp"
#include "trace/trace_file.hpp"

namespace tisim {
namespace {

TraceFile file_at(const std::string& path) {
  TraceFile file;
  file.name = path;
  file.path = path;
  return file;
}

std::string contents_of(const std::string& path) {
  const TraceFile file = file_at(path);
  std::string bytes(file.size(), '\0');
  bytes.resize(file.read(0, bytes.data(), bytes.size()));
  return bytes;
}

// Applies `read` to the log in a file.
template <class Read>
auto read_part(const std::string& path, const Read& read) {
  try {
    return read(contents_of(path));
  } catch (const tit::FormatError& error) {
    throw TraceError(path, 0, std::string("is not a part of a recorded trace: ") + error.what());
  }
}

}  // namespace

std::vector<std::string> lines_without_numbers(const std::string& path) {
  std::vector<std::string> lines;
  const PackedFile file(file_at(path));
  for (const tit::Shape& shape : file.tables().shapes) {
    if (!shape.holes.empty()) continue;
    std::string line = shape.text;
    if (!line.empty() && line.front() == static_cast<char>(tit::kNoRankMark)) line.erase(0, 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

RecordedPart read_recorded_part(const std::string& path) {
  const tit::RankLog log =
      read_part(path, [](const std::string& bytes) { return tit::RankLog::read(bytes); });
  RecordedPart part;
  part.rank = static_cast<std::uint32_t>(log.rank);
  part.ranks = log.ranks;
  part.is_complete = log.is_complete;
  for (const tit::RecordedShape& shape : log.shapes) {
    if (shape.is_comment()) part.comments.push_back(shape.text);
  }
  return part;
}

std::vector<std::uint32_t> write_recorded_trace(const std::vector<std::string>& paths,
                                                const std::vector<std::string>& first_lines,
                                                const std::string& output) {
  if (paths.empty()) throw TraceError(output, 0, "has no parts to write");
  std::vector<std::uint32_t> incomplete;
  std::string bytes;
  try {
    tit::PartSet parts = read_part(paths.front(), tit::PartSet::from_log);
    for (auto path = paths.begin() + 1; path != paths.end(); ++path) {
      parts.merge(read_part(*path, tit::PartSet::from_log));
    }
    bytes = tit::trace_of(parts, first_lines, incomplete);
  } catch (const tit::FormatError& error) {
    throw TraceError(output, 0, std::string("cannot be written from these parts: ") + error.what());
  }
  const std::string unfinished = output + ".unfinished";
  try {
    write_at(*create_file(unfinished), bytes, 0, unfinished);
  } catch (const TraceError&) {  // a full disk
    std::remove(unfinished.c_str());
    throw;
  }
  if (std::rename(unfinished.c_str(), output.c_str()) != 0) {
    std::remove(unfinished.c_str());
    throw TraceError(output, 0, "cannot be written");
  }
  return incomplete;
}

}  // namespace tisim
