// The findings of the check about requests that have numbers.
#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "trace/check/check.hpp"

namespace tisim {

namespace {

// Each rank's lines come without their rank, separated by ';'. The findings that are more than
// notes, as "line: message".
std::vector<std::string> found(const std::vector<std::string>& ranks,
                               Dialect dialect = Dialect::modern) {
  const CheckReport report = check(*test::trace_of(ranks, dialect));
  std::vector<std::string> all;
  for (const Finding& finding : report.findings.kept()) {
    if (finding.severity == Severity::note) continue;
    all.push_back(std::to_string(finding.line) + ": " + finding.message);
  }
  return all;
}

bool says(const std::vector<std::string>& findings, const char* part) {
  const bool one = findings.size() == 1 && findings.front().find(part) != std::string::npos;
  for (const std::string& text : findings) {
    if (!one) std::fprintf(stderr, "%s\n", text.c_str());
  }
  return one;
}

}  // namespace

TEST("numbered requests: sound traces") {
  CHECK(found({"isend 1 0 5 request=0;isend 1 0 5 request=1;wait request=1;isend 1 0 5 request=1;"
               "waitall requests=0,1",
               "recv 0 0 5;recv 0 0 5;recv 0 0 5"})
            .empty());
  CHECK(found({"ibarrier request=0;isend 1 0 5 request=1;waitall requests=1,0",
               "ibarrier request=4;irecv 0 0 5 request=2;waitany requests=2;wait request=4"})
            .empty());
  CHECK(found({"isend 1 0 5 request=0;testany requests=0;isend 1 0 5 request=0;wait request=0",
               "recv 0 0 5;recv 0 0 5"})
            .empty());
  CHECK(found({"isend 1 5 request=0;isend 1 6;wait request=0;wait", "recv 0 5;recv 0 6"},
              Dialect::legacy)
            .empty());
  CHECK(found({"isend 1 0 5 request=0;isend 1 1 5;wait 0 1 0;waitall",
               "irecv 0 0 5 request=3;irecv 0 1 5 request=2;wait request=3;waitall requests=2"})
            .empty());
}

TEST("numbered requests: persistent ones") {
  CHECK(found({"send_init 1 0 5 request=0;send_init 1 1 5 request=1;start request=1;"
               "wait request=1;startall requests=0,1;waitall requests=0,1",
               "recv 0 1 5;recv 0 1 5;recv 0 0 5"})
            .empty());
  CHECK(found({"comm_split 0 1 0 1;send_init 0 0 5 comm=1 request=0;start request=0;wait request=0",
               "comm_split 0 1 0 0;recv 1 0 5 comm=1"})
            .empty());
  CHECK(says(found({"send_init 1 0 5 request=0;start request=0;start request=0;waitall",
                    "recv 0 0 5;recv 0 0 5"}),
             "3: request 0 is still active since line 2"));
  CHECK(says(found({"isend 1 0 5 request=0;start request=0;waitall", "recv 0 0 5"}),
             "2: request 0 is not persistent"));
}

TEST("numbered requests: numbers that name none, or are not free") {
  CHECK(says(found({"wait request=4", "init"}), "1: request 4 does not exist"));
  CHECK(says(found({"isend 1 0 5 request=4;waitall requests=4;test request=4", "recv 0 0 5"}),
             "3: request 4 does not exist"));
  CHECK(
      says(found({"isend 1 0 5 request=4;isend 1 0 5 request=4;waitall", "recv 0 0 5;recv 0 0 5"}),
           "2: request 4 is still pending since line 1"));
  CHECK(says(
      found({"isend 1 0 5 request=4;ibarrier request=4;waitall", "recv 0 0 5;ibarrier;waitall"}),
      "2: request 4 is still pending since line 1"));
}

TEST("numbered requests: those that are never waited for") {
  CHECK(says(found({"isend 1 0 5 request=0;isend 1 0 5 request=1;wait request=0",
                    "recv 0 0 5;recv 0 0 5"}),
             "2: posts a request that is never waited for"));
  CHECK(says(found({"ibarrier request=0", "ibarrier request=0;wait request=0"}),
             "1: posts a request that is never waited for"));
}

TEST("numbered requests: deadlocks are proved request by request") {
  const std::string peer = "send 0 1 5;send 0 2 5;recv 0 9 5;send 0 3 5";
  const std::string posts = "irecv 1 1 5 request=0;irecv 1 2 5 request=1;irecv 1 3 5 request=2;";
  CHECK(found({posts + "waitall requests=0,1;send 1 9 5;waitall requests=2", peer}).empty());
  CHECK(found({posts + "wait request=1;waitany requests=0;send 1 9 5;waitall", peer}).empty());
  CHECK(says(found({posts + "waitall requests=0,2;send 1 9 5;waitall requests=1", peer}),
             "deadlock"));
  CHECK(says(found({posts + "wait request=2;send 1 9 5;waitall", peer}), "deadlock"));
  CHECK(says(found({posts + "waitany requests=2;send 1 9 5;waitall", peer}), "deadlock"));
}

TEST("numbered requests: cancelled and freed ones") {
  CHECK(found({"irecv 1 0 5 request=0;cancel request=0;wait request=0;isend 1 3 5 request=0;"
               "request_free request=0;recv_init 1 1 5 request=0;start request=0;"
               "cancel request=0;request_free request=0;irecv 1 0 5;cancel 1 0 0;waitall",
               "recv 0 3 5"})
            .empty());
  // The receive may have had the message before it was cancelled, and so may another one.
  CHECK(found({"irecv 1 0 5 request=0;cancel request=0;wait request=0", "send 0 0 9"}).empty());
  CHECK(found({"irecv 1 0 5 request=0;cancel request=0;wait request=0;recv -555 0 5", "send 0 0 5"})
            .empty());
  CHECK(says(
      found({"irecv 1 0 5 request=0;cancel request=0;wait request=0;recv -555 0 5", "compute 1"}),
      "4: waits for a message"));
  CHECK(says(
      found({"issend 1 0 5 request=0;cancel request=0;wait request=0", "recv 0 0 5;recv 0 0 5"}),
      "2: waits for a message"));
  CHECK(says(found({"irecv 1 0 5 request=0;cancel request=0", "compute 1"}),
             "1: posts a request that is never waited for"));
  CHECK(says(found({"cancel request=0", "compute 1"}), "request 0 does not exist"));
  CHECK(says(found({"isend 1 0 5 request=0;request_free request=0;wait request=0", "recv 0 0 5"}),
             "request 0 does not exist"));
  CHECK(says(found({"recv_init 1 0 5 request=0;cancel request=0", "compute 1"}),
             "request 0 is not active"));
  CHECK(says(found({"ibarrier request=0;cancel request=0;wait request=0", "ibarrier;waitall"}),
             "request 0 is of a collective"));
  CHECK(says(found({"request_free 1 0 5", "compute 1"}), "frees a request that is not there"));
}

}  // namespace tisim
