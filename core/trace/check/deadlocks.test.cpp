#include <string>
#include <vector>

#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "trace/check/check.hpp"

namespace tisim {

namespace {

// The findings about a trace whose rank i has the lines `ranks[i]`, separated by semicolons.
std::vector<Finding> findings_of(const std::vector<std::string>& ranks,
                                 Dialect dialect = Dialect::modern) {
  return check(*test::trace_of(ranks, dialect)).findings.kept();
}

bool is_one_deadlock(const std::vector<Finding>& findings) {
  return findings.size() == 1 && findings.front().severity == Severity::error &&
         findings.front().message.starts_with("deadlock");
}

}  // namespace

TEST("deadlocks: a ring that receives before it sends") {
  const auto findings = findings_of({"init; recv 2 0 8; send 1 0 8; finalize",
                                     "init; recv 0 0 8; send 2 0 8; finalize",
                                     "init; recv 1 0 8; send 0 0 8; finalize"});
  CHECK(is_one_deadlock(findings));
  CHECK(findings.front().rank == 0 && findings.front().line == 2);
  CHECK(findings.front().file == "rank-0");
  CHECK(findings.front().message.find("rank 0 waits in recv for a message from rank 2 (tag 0), "
                                      "rank 2 (rank-2:2) waits in recv") != std::string::npos);
  CHECK(findings.front().message.find("sendrecv") != std::string::npos);
}

TEST("deadlocks: a ring that some order of events gets through is sound") {
  // Every send is buffered, or the receives are posted first.
  CHECK(findings_of({"send 1 0 8; recv 1 0 8", "send 0 0 8; recv 0 0 8"}).empty());
  CHECK(findings_of({"irecv 1 0 8; send 1 0 8; wait 1 0 0", "irecv 0 0 8; send 0 0 8; wait 0 1 0"})
            .empty());
  CHECK(findings_of({"sendrecv 8 1 8 1", "sendrecv 8 0 8 0"}).empty());
  CHECK(findings_of({"recv 1 0 8; send 1 0 8", "send 0 0 8; recv 0 0 8"}).empty());
}

TEST("deadlocks: requests that are waited for before the send") {
  CHECK(is_one_deadlock(
      findings_of({"irecv 1 0 8; wait 1 0 0; send 1 0 8", "irecv 0 0 8; wait 0 1 0; send 0 0 8"})));
  CHECK(is_one_deadlock(findings_of(
      {"irecv 1 0 8; waitall; send 1 0 8", "irecv 0 0 8; waitany; send 0 0 8; waitall"})));
  CHECK(is_one_deadlock(
      findings_of({"probe 1 0; recv 1 0 8; send 1 0 8", "recv 0 0 8; send 0 0 8"})));
  CHECK(is_one_deadlock(
      findings_of({"irecv 1 8; wait; send 1 8", "irecv 0 8; wait; send 0 8"}, Dialect::legacy)));
}

TEST("deadlocks: receives from any source") {
  CHECK(is_one_deadlock(findings_of({"recv -555 0 8; send 1 0 8", "recv -555 0 8; send 0 0 8"})));
  // Either message may come first.
  CHECK(findings_of({"recv -555 0 8; recv 1 0 8", "send 0 0 8", "send 0 0 8"}).empty());
  CHECK(findings_of({"irecv -555 0 8; recv 1 0 8; waitall", "send 0 0 8; send 0 0 8"}).empty());
  CHECK(findings_of({"irecv -555 0 8; test -555 0 0; irecv 1 0 8; waitany; waitall; send 1 1 8",
                     "send 0 0 8; send 0 0 8; recv 0 1 8"})
            .empty());
}

TEST("deadlocks: collectives wait for all ranks, or for the root") {
  CHECK(is_one_deadlock(findings_of({"recv 1 0 8; barrier", "barrier; send 0 0 8"})));
  CHECK(is_one_deadlock(findings_of({"recv 1 0 8; bcast 8 0", "bcast 8 0; send 0 0 8"})));
  CHECK(is_one_deadlock(findings_of({"recv 1 0 8; allreduce 8 0", "allreduce 8 0; send 0 0 8"})));
  // The root of a broadcast need not wait, nor do non-root ranks of a reduction.
  CHECK(findings_of({"bcast 8 0; send 1 0 8", "recv 0 0 8; bcast 8 0"}).empty());
  CHECK(findings_of({"recv 1 0 8; reduce 8 0 0", "reduce 8 0 0; send 0 0 8"}).empty());
  CHECK(findings_of({"recv 1 0 8; ibarrier; waitall", "ibarrier; send 0 0 8; waitall"}).empty());
  CHECK(findings_of({"recv 1 0 8; alltoallv 2 1 1 2 1 0", "alltoallv 1 1 0 2 1 1; send 0 0 8"})
            .size() <= 1);
}

TEST("deadlocks: a non-blocking collective counts among the collectives of its communicator") {
  CHECK(findings_of({"ibarrier; barrier; waitall", "ibarrier; barrier; waitall"}).empty());
  CHECK(findings_of({"ibcast 8 0; allreduce 8 0; waitall; barrier",
                     "ibcast 8 0; allreduce 8 0; waitall; barrier"})
            .empty());
  CHECK(is_one_deadlock(findings_of(
      {"ibarrier; recv 1 0 8; barrier; waitall", "ibarrier; barrier; send 0 0 8; waitall"})));
}

TEST("deadlocks: communicators") {
  CHECK(is_one_deadlock(findings_of({"comm_split 0 1 0 0; recv 1 0 8 comm=1; send 1 0 8 comm=1",
                                     "comm_split 0 1 0 0; recv 0 0 8 comm=1; send 0 0 8 comm=1"})));
  CHECK(findings_of({"comm_split 0 1 0 1; send 0 0 8 comm=1; recv 0 0 8 comm=1",
                     "comm_split 0 1 0 0; recv 1 0 8 comm=1; send 1 0 8 comm=1"})
            .empty());
}

TEST("deadlocks: others that wait are counted, not listed") {
  const auto findings =
      findings_of({"recv 1 0 8; send 1 0 8; send 2 0 8", "recv 0 0 8; send 0 0 8", "recv 0 0 8"});
  CHECK(is_one_deadlock(findings));
  CHECK(findings.front().message.find("1 more rank waits for them") != std::string::npos);
}

TEST("persistent requests: a rank that sends to itself has two of one key") {
  CHECK(findings_of({"send_init 0 5 8; recv_init 0 5 8; start 0 0 5; start 0 0 5; waitall; "
                     "start 0 0 5; start 0 0 5; wait 0 0 5; wait 0 0 5"})
            .empty());
}

TEST("program end: what comes after finalize, and a finalize that is missing") {
  auto findings = findings_of({"init; finalize; send 1 0 8", "init; recv 0 0 8; finalize"});
  CHECK(findings.size() == 1 && findings.front().severity == Severity::error);
  CHECK(findings.front().line == 3);
  CHECK(findings.front().message.find("send comes after the finalize on line 2") == 0);
  findings = findings_of({"init; finalize; compute 5", "init; compute 5; finalize"});
  CHECK(findings.size() == 1 && findings.front().severity == Severity::warning);
  findings = findings_of({"init; compute 5", "init; compute 5; finalize"});
  CHECK(findings.size() == 1 && findings.front().severity == Severity::warning);
  CHECK(findings.front().line == 2);
  CHECK(findings.front().message.find("without a finalize") != std::string::npos);
  CHECK(findings_of({"compute 5", "compute 5"}).empty());
}

TEST("balance: a rank that computes or sends much more than the others gets a note") {
  auto findings =
      findings_of({"compute 1; compute 1", "compute 2; compute 9; compute 1", "compute 1"});
  CHECK(findings.size() == 1 && findings.front().severity == Severity::note);
  CHECK(findings.front().rank == 1 && findings.front().line == 2);
  findings = findings_of({"send 1 0 800; send 2 0 8", "recv 0 0 800", "recv 0 0 8"});
  CHECK(findings.size() == 1 &&
        findings.front().message.find("sends 808 bytes") != std::string::npos);
}

namespace {

// Each rank's lines come without their rank, separated by ';'. Returns the findings other than
// notes, as "line: message".
std::vector<std::string> problems(const std::vector<std::string>& ranks,
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
  const bool matches = findings.size() == 1 && findings.front().find(part) != std::string::npos;
  for (const std::string& text : findings) {
    if (!matches) std::fprintf(stderr, "%s\n", text.c_str());
  }
  return matches;
}

}  // namespace

TEST("numbered requests: sound traces") {
  CHECK(
      problems({"isend 1 0 5 request=0;isend 1 0 5 request=1;wait request=1;isend 1 0 5 request=1;"
                "waitall requests=0,1",
                "recv 0 0 5;recv 0 0 5;recv 0 0 5"})
          .empty());
  CHECK(problems({"ibarrier request=0;isend 1 0 5 request=1;waitall requests=1,0",
                  "ibarrier request=4;irecv 0 0 5 request=2;waitany requests=2;wait request=4"})
            .empty());
  CHECK(problems({"isend 1 0 5 request=0;testany requests=0;isend 1 0 5 request=0;wait request=0",
                  "recv 0 0 5;recv 0 0 5"})
            .empty());
  CHECK(problems({"isend 1 5 request=0;isend 1 6;wait request=0;wait", "recv 0 5;recv 0 6"},
                 Dialect::legacy)
            .empty());
  CHECK(problems({"isend 1 0 5 request=0;isend 1 1 5;wait 0 1 0;waitall",
                  "irecv 0 0 5 request=3;irecv 0 1 5 request=2;wait request=3;waitall requests=2"})
            .empty());
}

TEST("numbered requests: persistent ones") {
  CHECK(problems({"send_init 1 0 5 request=0;send_init 1 1 5 request=1;start request=1;"
                  "wait request=1;startall requests=0,1;waitall requests=0,1",
                  "recv 0 1 5;recv 0 1 5;recv 0 0 5"})
            .empty());
  CHECK(problems(
            {"comm_split 0 1 0 1;send_init 0 0 5 comm=1 request=0;start request=0;wait request=0",
             "comm_split 0 1 0 0;recv 1 0 5 comm=1"})
            .empty());
  CHECK(says(problems({"send_init 1 0 5 request=0;start request=0;start request=0;waitall",
                       "recv 0 0 5;recv 0 0 5"}),
             "3: request 0 is still active since line 2"));
  CHECK(says(problems({"isend 1 0 5 request=0;start request=0;waitall", "recv 0 0 5"}),
             "2: request 0 is not persistent"));
}

TEST("numbered requests: numbers that name none, or are not free") {
  CHECK(says(problems({"wait request=4", "init"}), "1: request 4 does not exist"));
  CHECK(says(problems({"isend 1 0 5 request=4;waitall requests=4;test request=4", "recv 0 0 5"}),
             "3: request 4 does not exist"));
  CHECK(says(
      problems({"isend 1 0 5 request=4;isend 1 0 5 request=4;waitall", "recv 0 0 5;recv 0 0 5"}),
      "2: request 4 is still pending since line 1"));
  CHECK(says(
      problems({"isend 1 0 5 request=4;ibarrier request=4;waitall", "recv 0 0 5;ibarrier;waitall"}),
      "2: request 4 is still pending since line 1"));
}

TEST("numbered requests: those that are never waited for") {
  CHECK(says(problems({"isend 1 0 5 request=0;isend 1 0 5 request=1;wait request=0",
                       "recv 0 0 5;recv 0 0 5"}),
             "2: posts a request that is never waited for"));
  CHECK(says(problems({"ibarrier request=0", "ibarrier request=0;wait request=0"}),
             "1: posts a request that is never waited for"));
}

TEST("numbered requests: deadlocks are proved request by request") {
  const std::string peer = "send 0 1 5;send 0 2 5;recv 0 9 5;send 0 3 5";
  const std::string posts = "irecv 1 1 5 request=0;irecv 1 2 5 request=1;irecv 1 3 5 request=2;";
  CHECK(problems({posts + "waitall requests=0,1;send 1 9 5;waitall requests=2", peer}).empty());
  CHECK(problems({posts + "wait request=1;waitany requests=0;send 1 9 5;waitall", peer}).empty());
  CHECK(says(problems({posts + "waitall requests=0,2;send 1 9 5;waitall requests=1", peer}),
             "deadlock"));
  CHECK(says(problems({posts + "wait request=2;send 1 9 5;waitall", peer}), "deadlock"));
  CHECK(says(problems({posts + "waitany requests=2;send 1 9 5;waitall", peer}), "deadlock"));
}

TEST("numbered requests: cancelled and freed ones") {
  CHECK(problems({"irecv 1 0 5 request=0;cancel request=0;wait request=0;isend 1 3 5 request=0;"
                  "request_free request=0;recv_init 1 1 5 request=0;start request=0;"
                  "cancel request=0;request_free request=0;irecv 1 0 5;cancel 1 0 0;waitall",
                  "recv 0 3 5"})
            .empty());
  // The receive may have got the message before it was cancelled, and so may another one.
  CHECK(problems({"irecv 1 0 5 request=0;cancel request=0;wait request=0", "send 0 0 9"}).empty());
  CHECK(problems(
            {"irecv 1 0 5 request=0;cancel request=0;wait request=0;recv -555 0 5", "send 0 0 5"})
            .empty());
  CHECK(says(problems({"irecv 1 0 5 request=0;cancel request=0;wait request=0;recv -555 0 5",
                       "compute 1"}),
             "4: waits for a message"));
  CHECK(says(
      problems({"issend 1 0 5 request=0;cancel request=0;wait request=0", "recv 0 0 5;recv 0 0 5"}),
      "2: waits for a message"));
  CHECK(says(problems({"irecv 1 0 5 request=0;cancel request=0", "compute 1"}),
             "1: posts a request that is never waited for"));
  CHECK(says(problems({"cancel request=0", "compute 1"}), "request 0 does not exist"));
  CHECK(
      says(problems({"isend 1 0 5 request=0;request_free request=0;wait request=0", "recv 0 0 5"}),
           "request 0 does not exist"));
  CHECK(says(problems({"recv_init 1 0 5 request=0;cancel request=0", "compute 1"}),
             "request 0 is not active"));
  CHECK(says(problems({"ibarrier request=0;cancel request=0;wait request=0", "ibarrier;waitall"}),
             "request 0 is of a collective"));
  CHECK(
      says(problems({"request_free 1 0 5", "compute 1"}), "frees a request that does not exist:"));
}

}  // namespace tisim
