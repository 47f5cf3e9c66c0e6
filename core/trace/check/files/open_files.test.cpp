#include "trace/check/files/open_files.hpp"

#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "trace/check/check.hpp"

namespace tisim {

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
