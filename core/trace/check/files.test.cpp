#include "trace/check/files.hpp"

#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "trace/check/check.hpp"

namespace tisim {

namespace {

// The findings of a check about ranges, of ranks whose lines are separated by ';'. "": none.
std::string warnings_of(const std::vector<std::string>& ranks) {
  const CheckReport report = check(*test::trace_of(ranks));
  std::string all;
  for (const Finding& finding : report.findings.kept()) {
    if (finding.severity == Severity::note) continue;
    all += std::to_string(finding.rank) + ":" + std::to_string(finding.line) + " " +
           finding.message.substr(0, finding.message.find(',')) + "\n";
  }
  return all;
}

bool is_sound(const std::vector<std::string>& ranks) { return warnings_of(ranks).empty(); }

constexpr const char* kOpen = "file_open 0 f wc;";

}  // namespace

TEST("written ranges: two ranks write one block") {
  const std::string open = kOpen;
  CHECK(warnings_of({open + "file_write_at 0 40 0", open + "file_write_at 0 40 30"}) ==
        "1:2 writes bytes 30 to 39 of 'f'\n");
  CHECK(is_sound({open + "file_write_at 0 40 0", open + "file_write_at 0 40 40"}));
  CHECK(warnings_of({open + "file_write_at_all 0 40 0", open + "file_write_at_all 0 40 39"}) ==
        "1:2 writes bytes 39 to 39 of 'f'\n");
  // A collective write and an independent one behind it.
  CHECK(warnings_of({open + "file_write_at_all 0 10 0;file_write_at 0 10 10",
                     open + "file_write_at_all 0 10 10"}) == "1:2 writes bytes 10 to 19 of 'f'\n");
  CHECK(warnings_of({open + "file_iwrite_at 0 8 0;waitall", open + "file_iwrite 0 1;waitall"}) ==
        "1:2 writes bytes 0 to 0 of 'f'\n");
  CHECK(
      warnings_of({"open 3 g wc;write 3 10", "open 5 g w;lseek 5 20;lseek 5 -15 cur;write 5 1"}) ==
      "1:4 writes bytes 5 to 5 of 'g'\n");
}

TEST("written ranges: names of ranks, positions of all, and ends of files") {
  CHECK(is_sound({"open 3 g.%d wc;write 3 10", "open 3 g.%d wc;write 3 10"}));
  CHECK(warnings_of({"open 3 g.%d wc;write 3 10", "open 3 g.0 wc;write 3 10"}) ==
        "1:2 writes bytes 0 to 9 of 'g.0'\n");
  const std::string shared = std::string(kOpen) + "file_write_shared 0 10;file_write_ordered 0 10";
  CHECK(is_sound({shared, shared}));
  CHECK(is_sound({"open 3 g ac;write 3 10", "open 3 g ac;write 3 10"}));
}

TEST("written ranges: what all ranks wait for stands between") {
  const std::string open = kOpen;
  CHECK(is_sound({open + "file_write_at 0 40 0;barrier", open + "barrier;file_write_at 0 40 0"}));
  CHECK(is_sound(
      {open + "file_write_at 0 40 0;file_sync 0", open + "file_sync 0;file_write_at 0 40 0"}));
  const std::string part = "comm_split 0 1 0 0;file_open 0 f wc comm=1;";
  const std::string again = "file_close 0 comm=1;file_open 0 f w comm=1;";
  CHECK(is_sound({part + "file_write_at 0 40 0;" + again, part + again + "file_write_at 0 40 0"}));
  CHECK(!is_sound({part + "file_write_at 0 40 0", part + "file_write_at 0 40 0"}));
}

TEST("written ranges: one rank is said once a file, and the ranges of one rank are its own") {
  const std::string open = kOpen;
  CHECK(is_sound({open + "file_write_at 0 40 0;file_write_at 0 40 20;file_write_at 0 9 2", open}));
  CHECK(warnings_of({open + "file_write_at 0 9 0;file_write_at 0 9 100",
                     open + "file_write_at 0 9 0;file_write_at 0 9 100"}) ==
        "1:2 writes bytes 0 to 8 of 'f'\n");
  // The range of rank 2 overlaps that of rank 0, although rank 1 ends later than rank 0.
  CHECK(warnings_of({open + "file_write_at 0 50 0", open + "file_write_at 0 1 60",
                     open + "file_write_at 0 20 45;"}) == "2:2 writes bytes 45 to 49 of 'f'\n");
}

namespace {

std::vector<Finding> said_of(const std::string& text) {
  return check(*TraceSet::open(test::files_of({text}), "trace", Dialect::modern)).findings.kept();
}

bool says(const std::string& text, std::uint64_t line, std::string_view part) {
  const std::vector<Finding> found = said_of(text);
  return found.size() == 1 && found[0].severity == Severity::error && found[0].line == line &&
         found[0].message.find(part) != std::string::npos;
}

}  // namespace

TEST("check of files: handles that are opened, used and closed are sound") {
  CHECK(said_of("0 open 3 a rwct\n0 write 3 8\n0 close 3\n0 open 3 b\n0 read 3 8\n").empty());
}

TEST("check of files: what is not open, or for other calls") {
  CHECK(says("0 write 3 8\n", 1, "which no line has opened"));
  CHECK(says("0 open 3 a\n0 close 3\n0 close 3\n", 3, "which line 2 has closed"));
  CHECK(says("0 open 3 a\n0 open 3 b\n", 2, "open since line 1"));
  CHECK(says("0 open 3 a\n0 write 3 8\n", 2, "without the flag w"));
  CHECK(says("0 open 3 a wc\n0 pread 3 8 0\n", 2, "without the flag r"));
}

TEST("check of files: calls of MPI-IO are said once, though they make several operations") {
  CHECK(said_of("0 file_open 3 a rwc\n0 file_write_all 3 8\n0 file_close 3\n").empty());
  CHECK(says("0 file_write_at_all 3 8 0\n", 1, "which no line has opened"));
  CHECK(says("0 file_open 3 a\n0 file_write_ordered 3 8\n", 2, "without the flag w"));
  CHECK(says("0 file_open 3 a\n0 file_close 3\n0 file_close 3\n", 3, "which line 2 has closed"));
}

}  // namespace tisim
