// Checks of traces line by line, and of their accesses to files.
#include "trace/check/check.hpp"

#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "trace/check/files.hpp"
#include "trace/check/message_ledger.hpp"

namespace tisim {

namespace {

// Checks a trace.
CheckReport checked(const std::vector<std::string>& ranks, Dialect dialect = Dialect::modern) {
  return check(*test::trace_of(ranks, dialect));
}

bool sound(const CheckReport& report) {
  for (const Finding& finding : report.findings.kept()) {
    std::fprintf(stderr, "%s:%d: %s\n", finding.file.c_str(), static_cast<int>(finding.line),
                 finding.message.c_str());
  }
  return report.findings.errors() + report.findings.warnings() == 0;
}

// True if this is the only finding.
bool says(const CheckReport& report, Severity severity, std::int32_t rank, std::uint64_t line,
          std::string_view part) {
  const std::vector<Finding>& kept = report.findings.kept();
  const bool matches = kept.size() == 1 && kept[0].severity == severity && kept[0].rank == rank &&
                       kept[0].line == line && kept[0].message.find(part) != std::string::npos &&
                       kept[0].file == "rank-" + std::to_string(rank);
  if (!matches) sound(report);
  return matches;
}

}  // namespace

TEST("check: a sound trace, and what is counted in it") {
  const CheckReport report =
      checked({"init;isend 1 5 100 0;compute 7;wait 0 1 5;allreduce 5 10;bcast 5 1;sendRecv 1 1 1 "
               "1;finalize",
               "init;recv 0 5 200 0;compute 5;allreduce 5 10;bcast 5 1;sendRecv 1 0 1 0;finalize"});
  CHECK(sound(report));
  CHECK(report.actions == 15);
  const auto count = [&](std::string_view name) {
    for (const ActionCount& action : report.counts) {
      if (action.name == name) return action;
    }
    return ActionCount{};
  };
  CHECK(count("isend").actions == 1 && count("isend").bytes == 800);
  CHECK(count("compute").actions == 2 && count("compute").amount == 12);
  CHECK(count("allreduce").actions == 2 && count("allreduce").amount == 20);
  CHECK(count("sendrecv").actions == 2 && count("sendrecv").messages == 2 &&
        count("sendrecv").bytes == 2);
  CHECK(count("recv").messages == 0);
}

TEST("check: messages that are sent and not received, and the other way round") {
  CHECK(
      says(checked({"send 1 0 5;send 1 0 5;send 1 0 5", "recv 0 0 5"}), Severity::error, 0, 2,
           "sends a message from rank 0 to rank 1 with tag 0 that is never received: 3 are sent, 1 "
           "received; this is the first of 2"));
  CHECK(says(
      checked({"send 1 0 5", "recv 0 0 5;recv 0 0 5"}), Severity::error, 1, 2,
      "waits for a message from rank 0 to rank 1 with tag 0 that is never sent: 2 are received"));
  CHECK(checked({"send 1 0 5", "recv 0 1 5"}).findings.errors() == 2);
  CHECK(sound(checked({"send -666 0 5;recv -666 0 5", "init"})));
}

TEST("check: receives from any rank and of any tag") {
  CHECK(sound(checked(
      {"recv -555 0 9;recv -555 -444 9;recv 1 -444 9", "send 0 0 5;send 0 3 5", "send 0 7 5"})));
  CHECK(says(checked({"recv -555 0 5;recv -555 0 5", "send 0 0 5"}), Severity::error, 0, 2,
             "waits for a message from any rank to rank 0 with tag 0 that is never sent"));
  CHECK(says(checked({"recv -555 0 5", "send 0 0 5", "send 0 0 5"}), Severity::error, 2, 1,
             "sends a message from rank 2 to rank 0 with tag 0 that is never received"));
  CHECK(checked({"recv -555 1 5;recv 1 0 5", "send 0 0 5;send 0 2 5"}).findings.errors() == 2);
}

TEST("check: receives from any rank of many tags take the messages of theirs") {
  std::string wild;
  std::string sends;
  for (int tag = 0; tag < 100; ++tag) {
    wild += "recv -555 " + std::to_string(tag) + " 5;";
    sends += "send 0 " + std::to_string(99 - tag) + " 5;";
  }
  CHECK(sound(checked({wild + wild, sends, sends})));
  CHECK(
      sound(checked({wild + "recv 1 -444 5;recv -555 -444 5", sends + "send 0 100 5;send 0 7 5"})));
  CHECK(says(checked({wild + wild + "recv 2 -444 5", sends, sends}), Severity::error, 0, 201,
             "from rank 2 to rank 0 with any tag that is never sent"));
}

TEST("check: of a channel without a fault nothing is kept") {
  const auto set = test::trace_of({"isend 1 0 5;isend 0 1 5;irecv 0 1 5;recv 1 0 5;waitall",
                                   "isend 0 0 5;irecv 0 0 5;send 1 3 5;waitall"});
  const Communicators world(set->ranks());
  const Progress nobody;
  MessageLedger ledger(*set, world, nobody);
  const std::size_t kept[] = {2, 1};  // both channels between the ranks; what rank 1 never receives
  for (std::int32_t rank = 0; rank < set->ranks(); ++rank) {
    RankWalk walk(*set, world, rank);
    RankRequests requests;
    while (walk.next()) {
      requests.take(walk);
      for (const TraceMessage& message : requests.messages()) ledger.add(message);
    }
    ledger.end_rank();
    CHECK(ledger.open() == kept[rank]);
  }
}

TEST("check: messages larger than their buffers") {
  CHECK(says(
      checked({"send 1 0 5;send 1 0 10", "recv 0 0 10;recv 0 0 9"}), Severity::error, 1, 2,
      "has room for 9 bytes, and the message from rank 0 to rank 1 with tag 0 has 10 (rank-0:2)"));
  CHECK(sound(checked({"send 1 0 5;send 1 0 10", "recv 0 0 5;recv 0 0 10"})));
  CHECK(sound(checked({"send 1 0 5;send 1 0 10", "recv 0 0 -1;irecv 0 0 11;waitall"})));
  CHECK(sound(checked({"send 1 0 10;send 1 0 5", "recv 0 0 10;recv 0 0 9"})));
}

TEST("check: requests") {
  CHECK(says(checked({"isend 1 0 5;isend 1 1 5;wait 0 1 1", "recv 0 0 5;recv 0 1 5"}),
             Severity::warning, 0, 1, "posts a request that is never waited for"));
  CHECK(says(
      checked({"isend 1 0 5;isend 1 0 5;ibarrier;init", "recv 0 0 5;recv 0 0 5;ibarrier;waitall"}),
      Severity::warning, 0, 1, "posts the first of 3 requests that are never waited for"));
  CHECK(says(checked({"isend 1 0 5;wait 0 1 0;wait 0 1 0", "recv 0 0 5"}), Severity::warning, 0, 3,
             "waits for a request that is not pending"));
  CHECK(sound(checked({"isend 1 0 5;isend 1 0 5;waitany 2;waitAny 2", "recv 0 0 5;recv 0 0 5"})));
  CHECK(sound(checked({"isend 1 0 5;test 0 1 0;isend 1 0 5;testall", "recv 0 0 5;recv 0 0 5"})));
  CHECK(says(checked({"isend 1 0 5;testall;isend 1 0 5", "recv 0 0 5;recv 0 0 5"}),
             Severity::warning, 0, 3, "posts a request that is never waited for"));
  CHECK(says(checked({"isend 1 0 5;isend 1 0 5;wait 0 1 0;isend 1 0 5;wait 0 1 0",
                      "recv 0 0 5;recv 0 0 5;recv 0 0 5"}),
             Severity::warning, 0, 4, "posts a request that is never waited for"));
  CHECK(sound(checked({"ibcast 5;wait -333 -333 -3335", "ibcast 5;waitall"})));
  CHECK(sound(
      checked({"isend 1 5;Irecv 1 5;wait;wait", "isend 0 5;Irecv 0 5;waitAll"}, Dialect::legacy)));
  CHECK(says(checked({"isend 1 5;wait;wait", "recv 0 5"}, Dialect::legacy), Severity::warning, 0, 3,
             "waits for a request, but none is pending"));
}

TEST("check: persistent requests") {
  CHECK(sound(checked({"send_init 1 0 5;start 0 1 0;wait 0 1 0;start 0 1 0;wait 0 1 0",
                       "recv_init 0 0 5;startall;waitall;startall;waitall"})));
  CHECK(says(checked({"send_init 1 0 5;start 0 1 0;wait 0 1 0", "init"}), Severity::error, 0, 2,
             "is never received"));
  CHECK(sound(checked({"Start 1 5 80 0;wait 0 1 5", "Start 1 5 80 0;wait 0 1 5"})));
}

TEST("check: collectives in another order") {
  CHECK(says(checked({"barrier;bcast 5", "barrier;barrier"}), Severity::error, 1, 2,
             "calls barrier where rank 0 (rank-0:2) calls bcast"));
  CHECK(says(checked({"barrier;bcast 5", "barrier"}), Severity::error, 1, 0,
             "calls no further collective where rank 0 (rank-0:2) calls bcast"));
  CHECK(says(checked({"barrier", "barrier;bcast 5"}), Severity::error, 1, 2,
             "calls bcast where rank 0 calls no further collective"));
  CHECK(says(checked({"barrier", "compute 5"}), Severity::error, 1, 0,
             "calls no collective where rank 0 (rank-0:1) calls barrier"));
  CHECK(says(checked({"compute 5", "barrier"}), Severity::error, 0, 0,
             "calls no collective where rank 1 (rank-1:1) calls barrier"));
  CHECK(says(checked({"barrier", "ibarrier;waitall"}), Severity::error, 1, 1,
             "calls ibarrier where rank 0"));
}

TEST("check: a difference far into a trace") {
  std::string first;
  for (int i = 0; i < 2000; ++i) first += "bcast " + std::to_string(i) + ";";
  std::string second = first;
  second.replace(second.find("bcast 1500;"), 11, "bcast 9999;");
  CHECK(sound(checked({first, first, first})));
  CHECK(says(checked({first, first, second}), Severity::error, 2, 1501,
             "bcast is of 9999 bytes, and of 1500 where rank 0 (rank-0:1501) calls it"));
}

TEST("check: arguments of collectives that do not fit") {
  CHECK(says(checked({"bcast 5 0", "bcast 5 1"}), Severity::error, 1, 1,
             "bcast has the root 1, and the root 0 where rank 0 (rank-0:1) calls it"));
  CHECK(sound(checked({"bcast 1 0 0", "bcast 8 0 6"})));
  CHECK(sound(checked(
      {"reduce 5 0 1;gather 5 9 1;scatter 7 5 1", "reduce 5 7 1;gather 9 5 1;scatter 5 7 1"})));
  CHECK(says(checked({"gather 5 9 1", "gather 9 6 1"}), Severity::error, 1, 1,
             "gather is of 6 bytes, and of 5"));
  CHECK(says(checked({"alltoall 5 6", "alltoall 5 5"}), Severity::error, 0, 1,
             "sends 5 bytes but expects 6 from a rank that makes the same call"));
  CHECK(says(checked({"allgatherv 5 5 6", "allgatherv 7 5 6"}), Severity::error, 1, 1,
             "sends 7 bytes but expects 6"));
  CHECK(says(checked({"reducescatter 5 5 0", "reducescatter 5 6 0"}), Severity::error, 1, 1,
             "reducescatter has counts"));
}

TEST("check: collectives whose counts differ by rank") {
  CHECK(checked({"alltoallv 9 1 2 9 1 3 6 1", "alltoallv 9 3 4 9 2 4"}, Dialect::modern)
            .findings.errors() == 1);
  CHECK(sound(checked({"alltoallv 9 1 2 9 1 3", "alltoallv 9 3 4 9 2 4"})));
  CHECK(says(checked({"barrier;alltoallv 9 1 2 9 1 3", "barrier;alltoallv 9 3 4 9 5 4"}),
             Severity::error, 1, 2, "expects 5 bytes of rank 0, which sends 2 (rank-0:2)"));
  CHECK(sound(checked({"gatherv 5 0 0 1", "gatherv 7 5 7 1"})));
  CHECK(says(checked({"gatherv 5 0 0 1", "gatherv 7 6 7 1"}), Severity::error, 1, 1,
             "expects 6 bytes of rank 0, which sends 5 (rank-0:1)"));
  CHECK(sound(checked({"scatterv 5 7 5", "scatterv 0 0 7"})));
  CHECK(says(checked({"scatterv 5 7 5", "scatterv 0 0 8"}), Severity::error, 1, 1,
             "expects 8 bytes of rank 0, which sends 7 (rank-0:1)"));
}

TEST("check: communicators") {
  CHECK(sound(checked({"comm_split 0 1 0 1;bcast 5 comm=1;send 0 0 5 comm=1;comm_free 1",
                       "comm_split 0 1 1 0;barrier comm=1;comm_dup 1 2;barrier comm=2;comm_free 1",
                       "comm_split 0 1 0 0;bcast 5 comm=1;recv 1 0 5 comm=1;comm_free 1"})));
  CHECK(checked({"comm_split 0 1 0 0;send 1 0 5 comm=1", "comm_split 0 1 1 0",
                 "comm_split 0 1 0 0;recv 0 1 5 comm=1;init"})
            .findings.errors() == 2);
  const CheckReport unmatched =
      checked({"comm_split 0 1 0 0;send 1 7 5 comm=1", "comm_split 0 1 1 0", "comm_split 0 1 0 0"});
  CHECK(says(unmatched, Severity::error, 0, 2,
             "from rank 0 to rank 2 with tag 7 that is never received"));
  CHECK(says(checked({"comm_split 0 1 -1 0;barrier comm=1", "comm_split 0 1 0 0;barrier comm=1"}),
             Severity::error, 0, 2, "uses the communicator 1, which this rank is not in"));
  CHECK(says(checked({"comm_split 0 1 0 0;barrier comm=1", "comm_split 0 1 0 0;bcast 5 comm=1"}),
             Severity::error, 1, 2, "calls bcast where rank 0 (rank-0:2) calls barrier"));
  CHECK(says(checked({"comm_split 0 1 0 0;allgatherv 5 5 5 comm=1",
                      "comm_split 0 1 0 1;allgatherv 5 5 5 comm=1",
                      "comm_split 0 1 1 0;allgatherv 5 5 5 5 5 5 comm=1"}),
             Severity::error, 2, 2, "got 6 arguments (P is 1"));
  CHECK(checked({"comm_dup 0 1;barrier comm=1", "comm_dup 0 1;barrier comm=1", "barrier;barrier"})
            .findings.errors() == 3);
}

TEST("check: the same number for one communicator after the other") {
  CHECK(sound(checked(
      {"comm_split 0 1 0 0;send 1 0 5 comm=1;comm_free 1;comm_split 0 1 0 1;send 0 0 5 comm=1",
       "comm_split 0 1 0 1;recv 0 0 5 comm=1;comm_free 1;comm_split 0 1 0 0;recv 1 0 5 comm=1"})));
}

TEST("check: lines that cannot be read are all that is said") {
  const CheckReport report = checked({"init;sen 1;send 1 0 5", "init;compute x", "barrier"});
  CHECK(report.findings.errors() == 2 && report.findings.warnings() == 0);
  CHECK(report.findings.kept()[0].line == 2 && report.findings.kept()[1].file == "rank-1");
  CHECK(checked({"comm_split 0 1 0 0;sen 1", "comm_split 0 1 0 0"}).findings.errors() == 1);
}

TEST("check: whoever waits is told of the second look too, and can stop it") {
  const auto looks = [](const std::vector<std::string>& ranks) {
    std::size_t after = 0;  // reports made after everything has been read once
    check(*test::trace_of(ranks), [&](double part) { after += part == 1.0 ? 1U : 0U; });
    return after;
  };
  const std::size_t sound_ones = looks({"init;barrier", "init;barrier"});
  CHECK(looks({"send 1 0 5;barrier", "init;barrier"}) > sound_ones);
  CHECK(looks({"init;barrier", "init;ibarrier;waitall"}) > sound_ones);
  CHECK(looks({"alltoallv 9 1 2 9 1 3", "alltoallv 9 3 4 9 5 4"}) > sound_ones);
}

TEST("check: warnings about what the tracer lost") {
  CHECK(says(checked({"send 1 0 5 -1", "recv 0 0 5 -1"}), Severity::warning, 0, 0,
             "has messages of type -1, whose size the tracer lost; they are counted as empty; so "
             "have 1 more"));
  CHECK(says(checked({"send 1 0 5", "recv -333 0 5"}), Severity::warning, 1, 0,
             "has receives from -333"));
}

TEST("check: thousands of findings are counted, and the first are kept") {
  std::string lines;
  for (int tag = 0; tag < 1000; ++tag) lines += "send 1 " + std::to_string(tag) + " 5;";
  const CheckReport report = checked({lines, "init"});
  CHECK(report.findings.errors() == 1000);
  CHECK(report.findings.kept().size() == Findings::kMaxKept && report.findings.kept()[5].line == 6);
}

namespace {

// The findings of a check about ranges, for ranks whose lines are separated by ';'. "": none.
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
  // A collective write followed by an independent one.
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
  const std::vector<Finding> findings = said_of(text);
  return findings.size() == 1 && findings[0].severity == Severity::error &&
         findings[0].line == line && findings[0].message.find(part) != std::string::npos;
}

}  // namespace

TEST("check of files: handles that are opened, used and closed are sound") {
  CHECK(said_of("0 open 3 a rwct\n0 write 3 8\n0 close 3\n0 open 3 b\n0 read 3 8\n").empty());
}

TEST("check of files: what is not open, or for other calls") {
  CHECK(says("0 write 3 8\n", 1, "which no line opened"));
  CHECK(says("0 open 3 a\n0 close 3\n0 close 3\n", 3, "which line 2 closed"));
  CHECK(says("0 open 3 a\n0 open 3 b\n", 2, "open since line 1"));
  CHECK(says("0 open 3 a\n0 write 3 8\n", 2, "without the flag w"));
  CHECK(says("0 open 3 a wc\n0 pread 3 8 0\n", 2, "without the flag r"));
}

TEST("check of files: calls of MPI-IO are said once, though they make several operations") {
  CHECK(said_of("0 file_open 3 a rwc\n0 file_write_all 3 8\n0 file_close 3\n").empty());
  CHECK(says("0 file_write_at_all 3 8 0\n", 1, "which no line opened"));
  CHECK(says("0 file_open 3 a\n0 file_write_ordered 3 8\n", 2, "without the flag w"));
  CHECK(says("0 file_open 3 a\n0 file_close 3\n0 file_close 3\n", 3, "which line 2 closed"));
}

}  // namespace tisim
