#include "trace/rank_numbers.hpp"

#include <algorithm>
#include <limits>

#include "trace/error.hpp"
#include "trace/line_parser.hpp"

namespace tisim {

namespace {

constexpr std::size_t kMostNamed = 8;

}  // namespace

std::int64_t leading_rank(std::string_view line, const std::string& file, std::uint64_t number) {
  const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
  std::size_t end = start;
  std::int64_t rank = 0;
  for (; end < line.size() && line[end] >= '0' && line[end] <= '9'; ++end) {
    if (rank <= std::numeric_limits<std::int32_t>::max()) rank = rank * 10 + (line[end] - '0');
  }
  const bool ends =
      end == line.size() || line[end] == ' ' || line[end] == '\t' || line[end] == '\r';
  if (end == start || !ends) {
    const std::size_t stop = std::min(line.find_first_of(" \t\r", start), line.size());
    fail_line(file, number, line,
              "a line starts with the number of its rank, not with " +
                  quoted(line.substr(start, stop - start)));
  }
  if (rank > std::numeric_limits<std::int32_t>::max()) {
    fail_line(file, number, line, "a rank number this large cannot be");
  }
  return rank;
}

void check_ranks_complete(const std::vector<std::int64_t>& ranks, const std::string& place,
                          std::string_view thing) {
  const auto count = static_cast<std::int64_t>(ranks.size());
  if (ranks.empty() || ranks.back() == count - 1) return;
  std::string missing;
  std::size_t named = 0;
  std::size_t next = 0;
  std::int64_t absent = ranks.back() + 1 - count;
  for (std::int64_t rank = 0; rank < ranks.back() && named < kMostNamed; ++rank) {
    if (ranks[next] == rank) {
      ++next;
    } else {
      missing += (named++ > 0 ? ", " : "") + std::to_string(rank);
    }
  }
  if (static_cast<std::size_t>(absent) > named) missing += ", ...";
  throw TraceError(place, 0,
                   std::string(absent == 1 ? "rank " : "ranks ") + missing + " of 0 to " +
                       std::to_string(ranks.back()) + (absent == 1 ? " has" : " have") + " no " +
                       std::string(thing) + "; ranks are numbered from 0 without a gap");
}

}  // namespace tisim
