#include "trace/grammar/line_parser.hpp"

#include <cstdint>
#include <cstdio>

#include "core/test.hpp"
#include "core/trace_testing.hpp"
#include "trace/grammar/words.hpp"

namespace tisim {

using test::Sample;

TEST("lines: point-to-point, with types and without") {
  const Sample s({"send 1 7 100", "isend 2 8 100 0", "recv 3 9 50 1", "irecv 1 -444 -1",
                  "ssend 1 0 1 4", "bsend 1 0 1", "issend 1 0 1", "ibsend 1 0 1"});
  CHECK(s.ops.size() == 8);
  CHECK(s.ops[0].kind == Kind::send && s.ops[0].peer == 1 && s.ops[0].tag == 7 &&
        s.ops[0].bytes == 100 && s.ops[0].line == 1);
  CHECK(s.ops[1].kind == Kind::isend && s.ops[1].bytes == 800);
  CHECK(s.ops[2].kind == Kind::recv && s.ops[2].peer == 3 && s.ops[2].bytes == 200);
  CHECK(s.ops[3].kind == Kind::irecv && s.ops[3].tag == kAnyTag && s.ops[3].bytes == -1);
  CHECK(s.ops[4].kind == Kind::ssend && s.ops[4].bytes == 8);
  CHECK(s.ops[5].kind == Kind::bsend && s.ops[6].kind == Kind::issend);
  CHECK(s.ops[7].kind == Kind::ibsend && s.ops[7].line == 8);
}

TEST("lines: init with an argument makes double the default type") {
  const Sample s(
      {"send 1 0 10", "init 0", "send 1 0 10", "send 1 0 10 6", "bcast 3", "init", "send 1 0 10"});
  CHECK(s.ops[0].bytes == 10 && s.ops[2].bytes == 80 && s.ops[3].bytes == 10);
  CHECK(s.call(4).double_default);
  CHECK(s.ops[6].bytes == 10);
}

TEST("lines: 64-bit counts") {
  const Sample s(
      {"send 1 0 1e15 0", "recv 1 0 9223372036854775807", "send 1 2147483647 12345678901"});
  CHECK(s.ops[0].bytes == 8000000000000000);
  CHECK(s.ops[1].bytes == INT64_MAX);
  CHECK(s.ops[2].bytes == 12345678901 && s.ops[2].tag == 2147483647);
}

TEST("lines: special ranks") {
  const Sample s({"send -333 0 1", "isend -666 0 1", "recv -555 0 1", "irecv -333 0 1",
                  "recv -666 0 1", "wait -333 0 1"});
  CHECK(s.ops[0].peer == kProcNull && s.ops[1].peer == kProcNull);
  CHECK(s.ops[2].peer == kAnySource && s.ops[2].flags == 0);
  CHECK(s.ops[3].peer == kAnySource && s.ops[3].flags == kNullIsMistaken);
  CHECK(s.ops[4].peer == kProcNull);
  CHECK(s.ops[5].kind == Kind::wait && s.ops[5].peer == kAnySource && s.ops[5].bytes == 0);
  const Sample null({"recv -333 0 1"}, 2, Dialect::modern, {.mistaken_null_is_any = false});
  CHECK(null.ops[0].peer == kProcNull && null.ops[0].flags == 0);
}

TEST("lines: of two layers of I/O, one is read") {
  const std::vector<std::string> lines = {"open 0 a wc layer=posix", "file_open 1 a wc layer=mpi",
                                          "pwrite 0 64 128 layer=posix",
                                          "file_write_at 1 32 16 layer=mpi", "barrier"};
  const Sample upper(lines);
  const Sample lower(lines, 4, Dialect::modern, {.is_posix_layer = true});
  for (const Sample* read : {&upper, &lower}) CHECK(read->ops.back().line == 5);
  for (const Op& op : upper.ops) CHECK(op.line != 1 && op.line != 3);
  for (const Op& op : lower.ops) CHECK(op.line != 2 && op.line != 4);
  CHECK(upper.ops.size() > 2 && lower.ops.size() > 2);
  CHECK_THROWS(Sample({"open 0 a wc layer=hdf5"}), TraceError, "neither mpi nor posix");
}

TEST("lines: requests") {
  const Sample s({"wait 1 0 5", "test 0 2 6", "waitall", "waitall 3", "waitAny 2", "waitsome",
                  "testall", "testany", "testsome", "wait -333 -333 -3335"});
  CHECK(s.ops[0].kind == Kind::wait && s.ops[0].peer == 1 && s.ops[0].bytes == 0 &&
        s.ops[0].tag == 5);
  CHECK(s.ops[1].kind == Kind::test && s.ops[1].peer == 0 && s.ops[1].bytes == 2);
  CHECK(s.ops[2].kind == Kind::waitall && s.ops[2].bytes == 0);
  CHECK(s.ops[3].kind == Kind::waitall && s.ops[3].bytes == 3);
  CHECK(s.ops[4].kind == Kind::waitany && s.ops[5].kind == Kind::waitsome);
  CHECK(s.ops[6].kind == Kind::testall && s.ops[7].kind == Kind::testany);
  CHECK(s.ops[8].kind == Kind::testsome);
  CHECK(s.ops[9].kind == Kind::wait_icollective && s.ops[9].tag == -3335);
}

TEST("lines: persistent requests, as documented and as SimGrid's tracer writes them") {
  const Sample s({"send_init 1 5 10", "recv_init 2 5 10 0", "start 0 1 5", "Startall",
                  "Start 1 5 80 0", "Start 0 5 80 0"});
  CHECK(s.ops[0].kind == Kind::send_init && s.ops[1].kind == Kind::recv_init &&
        s.ops[1].bytes == 80);
  CHECK(s.ops[2].kind == Kind::start && s.ops[2].peer == 0 && s.ops[2].bytes == 1);
  CHECK(s.ops[3].kind == Kind::startall);
  CHECK(s.ops[4].kind == Kind::isend && s.ops[4].peer == 1 && s.ops[4].bytes == 80);
  CHECK(s.ops[5].kind == Kind::irecv && s.ops[5].peer == kAnySource);
  CHECK(s.ops[5].flags == kSourceLost && s.ops[5].bytes == 80);
}

TEST("lines: sendRecv is two operations of one line") {
  const Sample s({"sendRecv 10 1 20 2 0 1", "sendrecv 10 -666 20 -555"});
  CHECK(s.ops.size() == 4);
  CHECK(s.ops[0].kind == Kind::sendrecv && s.ops[0].peer == 1 && s.ops[0].bytes == 80);
  CHECK(s.ops[1].kind == Kind::recv_half && s.ops[1].peer == 2 && s.ops[1].bytes == 80);
  CHECK(s.ops[1].flags == kContinuation && s.ops[1].line == 1);
  CHECK(s.ops[2].peer == kProcNull && s.ops[3].peer == kAnySource && s.ops[3].line == 2);
}

TEST("lines: the flops of a reduction are an operation of their own") {
  const Sample s(
      {"reduce 10 0 2 1", "reduce 10 500", "allreduce 10 1e3 1", "scan 1 2", "exscan 1 0 0"});
  CHECK(s.ops.size() == 8);
  CHECK((s.call(0).arguments == std::vector<double>{10, 2, 1}));
  CHECK((s.call(1).arguments == std::vector<double>{10}));
  CHECK(s.ops[2].kind == Kind::compute && s.ops[2].amount == 500 &&
        s.ops[2].flags == kContinuation);
  CHECK((s.call(3).arguments == std::vector<double>{10, 1}));
  CHECK(s.ops[4].amount == 1000);
  CHECK(s.call(5).operation == Operation::scan && s.ops[6].amount == 2);
  CHECK((s.call(7).arguments == std::vector<double>{1, 0}));
}

TEST("lines: vector collectives of four ranks") {
  const Sample s({"reducescatter 1 2 3 4 1.5 0", "alltoallv 9 1 2 3 4 8 4 3 2 1 1 1",
                  "gatherv 5 1 2 3 4 1 0 0", "scatterv 1 2 3 4 5", "allgatherv 5 1 2 3 4",
                  "allgatherv 5 1 2 3 4 0 0 10 20 30 40", "allgatherv 5 1 2 3 4 10 20 30 40"});
  CHECK(s.ops.size() == 7);
  CHECK((s.call(0).arguments == std::vector<double>{1, 2, 3, 4, 1.5, 0}));
  CHECK(s.call(1).arguments.size() == 12 && s.call(2).arguments.size() == 8);
  CHECK(s.call(6).arguments.size() == 9);
  for (const Op& op : s.ops) CHECK(op.kind == Kind::collective);
}

TEST("lines: communicators") {
  const Sample s({"comm_split 0 1 1 -5", "comm_dup 1 2", "send 1 0 10 comm=1", "bcast 5 comm=2",
                  "ibarrier comm=1", "wait 0 1 0 comm=1", "comm_free 2", "comm_split", "comm_dup",
                  "comm_size 4"});
  CHECK(s.ops[0].kind == Kind::comm_split && s.ops[0].comm == 0);
  CHECK((s.call(0).arguments == std::vector<double>{0, 1, 1, -5}));
  CHECK(s.ops[1].kind == Kind::comm_dup && s.ops[1].comm == 1);
  CHECK(s.ops[2].comm == 1 && s.ops[2].bytes == 10);
  CHECK(s.ops[3].comm == 2 && s.call(3).comm == 2 && s.call(3).arguments.size() == 1);
  CHECK(s.ops[4].kind == Kind::icollective && s.ops[5].comm == 1);
  CHECK(s.ops[6].kind == Kind::comm_free && s.ops[6].comm == 2);
  CHECK(s.ops[7].kind == Kind::nop && s.ops[8].kind == Kind::nop && s.ops[9].kind == Kind::nop);
}

TEST("lines: custom actions keep their words") {
  const Sample s({"Checkpoint disk 5 comm=1 # every now and then", "checkpoint disk 5 comm=1"}, 2,
                 Dialect::modern, {.custom_actions = {"checkpoint"}});
  CHECK(s.ops[0].kind == Kind::custom && s.ops[0].call == s.ops[1].call);
  CHECK((s.call(0).words == std::vector<std::string>{"checkpoint", "disk", "5", "comm=1"}));
}

TEST("lines: the legacy dialect") {
  const Sample s({"Isend 1 1e3", "Irecv 1", "send 1 10 0", "recv 1 0", "wait", "test", "waitAll",
                  "allReduce 5e4 5e8", "allToAllV 9 1 2 8 2 1", "gather 68 68 0 0 0"},
                 2, Dialect::legacy);
  CHECK(s.ops[0].kind == Kind::isend && s.ops[0].bytes == 1000 && s.ops[0].tag == 0);
  CHECK(s.ops[1].kind == Kind::irecv && s.ops[1].bytes == -1);
  CHECK(s.ops[2].bytes == 80 && s.ops[3].bytes == 0);
  CHECK(s.ops[4].kind == Kind::wait_last && s.ops[5].kind == Kind::test_last);
  CHECK(s.ops[6].kind == Kind::waitall);
  CHECK(s.call(7).arguments[0] == 50000 && s.ops[8].amount == 5e8);
}

TEST("lines: blanks, tabs, carriage returns, comments") {
  const Sample s = Sample::of_file(
      "# a comment\n\n \t\r\n  0\tcompute  1e6 \r\n0 send 1 0 5#so\n0 init # "
      "x\n\t# y\n0 barrier",
      2);
  CHECK(s.ops.size() == 4);
  CHECK(s.ops[0].amount == 1e6 && s.ops[0].line == 4);
  CHECK(s.ops[1].bytes == 5 && s.ops[3].kind == Kind::collective && s.ops[3].line == 8);
}

namespace {
// Checks the error about a line of rank 0 of 4.
void says(const char* line, std::string_view part, Dialect dialect = Dialect::modern) {
  std::string said;
  try {
    Sample({"init", line}, 4, dialect);
  } catch (const TraceError& error) {
    CHECK(error.file == "rank-0" && error.line == 2);
    said = error.message;
  }
  const bool as_expected = said.find(part) != std::string::npos;
  if (!as_expected) std::fprintf(stderr, "%s: %s\n", line, said.c_str());
  CHECK(as_expected);
}

}  // namespace

TEST("lines: wrong arguments") {
  says("send 1 5", "send needs dst tag count [type], got 2 arguments; if the trace has no tags");
  says("send 1 5", "got 2 arguments");
  says("recv", "recv needs src [count [type]], got 0 arguments", Dialect::legacy);
  says("wait 1 2 3", "wait needs no arguments or request=N, got 3 arguments", Dialect::legacy);
  says("compute", "compute needs flops [threads=N sum=S], got 0 arguments");
  says("compute 1 2", "got 2 arguments");
  says("barrier 1", "barrier needs no arguments, got 1 argument");
  says("alltoallv 1 2 3", "got 3 arguments (P is 4)");
  says("comm_split 1 2", "comm_split needs parent new color key, got 2");
  says("comm_free", "comm_free needs comm, got 0");
  says("compute 5 comm=1", "got 2 arguments");
}

TEST("lines: wrong numbers") {
  says("send 1 0 1.5", "count '1.5' is not a whole number");
  says("send 1 0 x", "count 'x' is not a number");
  says("send 1 0 0x10", "count '0x10' is not a number");
  says("send 1 0 -5", "count '-5' is negative; must be at least 0");
  says("send 1 0 1e30", "count '1e30' does not fit into 64 bits");
  says("send 1 0 9e18 0", "does not fit into 64 bits");
  says("send 1 -444 1", "tag '-444' is negative");
  says("send 1 1e10 1", "tag '1e10' is more than 2147483647");
  says("send 1 0 1 60", "no type 60");
  says("compute nan", "flops 'nan' is not a number");
  says("compute -1", "flops '-1' is negative");
  says("compute 1e999", "flops '1e999' is too large");
  says("sleep -1", "seconds '-1' is negative");
  says("bcast 9007199254740993", "is more than 2^53");
  says("bcast 1 4", "root 4 does not exist: the ranks of this trace are 0 to 3");
  says("allreduce 1 -2", "flops '-2' is negative");
  says("send 1 0 1 comm=x", "communicator 'x' is not a number");
  says("send 1 0 1 comm=65536", "communicator '65536' is not between 0 and 65535");
  says("comm_dup 0 0", "communicator 0 is the world, which cannot be created or freed");
  says("comm_free 0", "communicator 0 is the world");
  says("comm_dup 0 70000", "communicator '70000' is not between 0 and 65535");
}

TEST("lines: ranks that do not exist") {
  says("send 4 0 1", "destination 4 does not exist: the ranks of this trace are 0 to 3");
  says("send -555 0 1", "destination -555 does not exist");
  says("recv 4 0 1", "source 4 does not exist");
  says("wait 0 9 0", "destination 9 does not exist");
  CHECK_THROWS(Sample({"send 1 0 1"}, 1), TraceError, "the trace has rank 0 only");
}

TEST("lines: words that are not an action") {
  says("sned 1 0 1", "unknown action 'sned', but send");
  says("xyzzy", "unknown action 'xyzzy'; a custom action must be registered");
  says("send\x01 1 0 1", "is not text: the byte 0x01 at column 7");
}

TEST("lines: whose rank is not the file's") {
  const auto wrong = [](const char* text) { Sample::of_file(text, 2); };
  CHECK_THROWS(wrong("0 init\n1 init\n"), TraceError, "rank-0:2: this line is of rank 1");
  CHECK_THROWS(wrong("0 init\nx init\n"), TraceError,
               "rank-0:2: a line must start with the number");
  CHECK_THROWS(wrong("0 init\n0\n"), TraceError, "rank-0:2: a line needs an action");
  CHECK_THROWS(wrong("0 init\n99999999999 init\n"), TraceError, "too large");
}

TEST("lines: a file that ends inside a line") {
  const auto cut = [](const char* text) { Sample::of_file(text, 2); };
  CHECK_THROWS(cut("0 init\n0 send 1"), TraceError,
               "the file ends within this line and looks truncated:");
  CHECK_THROWS(cut("0 init\n0 sen"), TraceError,
               "the file ends within this line and looks truncated:");
  CHECK_THROWS(cut("0 init\n0"), TraceError, "the file ends within this line and looks truncated:");
  const Sample whole = Sample::of_file("0 init\n0 send 1 0 5", 2);
  CHECK(whole.ops.size() == 2);
}

using test::Sample;

namespace {

// True if a line creates an operation with a request and an operation that numbers the request 3.
bool makes_two(const std::string& line, Kind kind, Kind number) {
  const Sample s({line});
  return s.ops.size() == 2 && s.ops[0].kind == kind && s.ops[1].kind == number &&
         s.ops[1].bytes == 3 && s.ops[1].flags == kContinuation && s.ops[1].line == 1;
}

}  // namespace

TEST("named arguments: a number for the request that a line makes") {
  for (const auto& [line, kind] :
       std::vector<std::pair<std::string, Kind>>{{"isend 1 5 100", Kind::isend},
                                                 {"issend 1 5 100 6", Kind::issend},
                                                 {"ibsend 1 5 100", Kind::ibsend},
                                                 {"irecv 1 5 100 0", Kind::irecv},
                                                 {"Start 1 5 100 0", Kind::isend}}) {
    CHECK(makes_two(line + " request=3", kind, Kind::number_request));
    CHECK(makes_two(line + " comm=0 request=3", kind, Kind::number_request));
    CHECK(makes_two(line + "  request=3 comm=0 # x", kind, Kind::number_request));
  }
  CHECK(makes_two("send_init 1 5 100 request=3", Kind::send_init, Kind::number_persistent));
  CHECK(makes_two("recv_init 1 5 100 request=3", Kind::recv_init, Kind::number_persistent));
  const Sample s({"isend 1 5 100 6 request=3", "ireduce 4 10 1 0 request=7", "ibarrier request=0"});
  CHECK(s.ops.size() == 5 && s.ops[0].bytes == 100 && s.ops[0].tag == 5 && s.ops[0].peer == 1);
  CHECK(s.ops[2].kind == Kind::icollective && s.ops[2].flags == kNumbered && s.ops[2].tag == 7);
  CHECK(s.ops[3].kind == Kind::compute && s.ops[3].amount == 10);
  CHECK(s.ops[4].flags == kNumbered && s.ops[4].tag == 0);
}

TEST("named arguments: requests that are named") {
  const Sample s({"wait request=3", "test 1 0 5 request=2147483647", "start request=0",
                  "waitall requests=3,5", "waitany 2 requests=5,3", "startall requests=9",
                  "waitsome requests=", "wait -333 -333 -779 request=1"});
  CHECK(s.ops[0].kind == Kind::wait && s.ops[0].flags == kNumbered && s.ops[0].bytes == 3 &&
        s.ops[0].peer == kAnySource);
  CHECK(s.ops[1].kind == Kind::test && s.ops[1].bytes == 2147483647);
  CHECK(s.ops[2].kind == Kind::start && s.ops[2].flags == kNumbered && s.ops[2].bytes == 0);
  CHECK(s.ops[3].kind == Kind::waitall && s.ops[3].flags == kNumbered);
  CHECK(s.call(3).operation == Operation::requests);
  CHECK(s.call(3).arguments == std::vector<double>({3, 5}));
  CHECK(s.call(4).arguments == std::vector<double>({5, 3}));
  CHECK(s.call(5).arguments == std::vector<double>({9}) && s.call(6).arguments.empty());
  CHECK(s.ops[7].kind == Kind::wait && s.ops[7].bytes == 1);
}

TEST("named arguments: requests that were complete") {
  const Sample s({"waitany 3 requests=3,5,7 completed=5", "waitsome completed=7,3 requests=3,5,7"});
  CHECK(s.ops[0].kind == Kind::waitany_recorded && s.ops[0].flags == kNumbered);
  CHECK(s.call(0).arguments == std::vector<double>({5}));
  CHECK(s.call(0).listed == std::vector<double>({3, 5, 7}));
  CHECK(s.ops[1].kind == Kind::waitsome_recorded);
  CHECK(s.call(1).arguments == std::vector<double>({7, 3}));
  CHECK(name_of(s.ops[1].kind, Operation::requests) == "waitsome");
}

TEST("named arguments: requests that are cancelled or freed") {
  const Sample s({"cancel request=3", "request_free 1 0 5", "cancel -555 0 5 request=2"});
  CHECK(s.ops[0].kind == Kind::cancel && s.ops[0].flags == kNumbered && s.ops[0].bytes == 3);
  CHECK(s.ops[1].kind == Kind::request_free && s.ops[1].flags == 0 && s.ops[1].peer == 1 &&
        s.ops[1].bytes == 0 && s.ops[1].tag == 5);
  CHECK(s.ops[2].kind == Kind::cancel && s.ops[2].bytes == 2);
  says("cancel -333 -333 -779", "not apply to the request of a collective");
  says("request_free", "request_free needs request=N", Dialect::legacy);
  says("cancel 1 0", "cancel needs src dst tag");
}

TEST("named arguments: in the legacy dialect too") {
  const Sample s({"isend 1 100 request=3", "wait request=3", "wait"}, 2, Dialect::legacy);
  CHECK(s.ops[0].bytes == 100 && s.ops[1].bytes == 3);
  CHECK(s.ops[2].kind == Kind::wait && s.ops[2].bytes == 3);
  CHECK(s.ops[3].kind == Kind::wait_last);
}

TEST("named arguments: a line that has one is of a modern trace") {
  const auto set = TraceSet::open(test::files_of({"0 waitall requests=1\n0 isend 0 5\n"}), "x");
  CHECK(set->dialect() == Dialect::modern);
}

TEST("named arguments: what is wrong with them") {
  says("isend 1 5 100 request=", "request '' is not a number");
  says("isend 1 5 100 request=-1", "request '-1' is not between 0 and 2147483647");
  says("isend 1 5 100 request=2147483648", "is not between");
  says("isend 1 5 100 request=1.5", "request '1.5' is not a whole number");
  says("send 1 5 100 request=1",
       "send does not accept request=: it neither creates nor names a request");
  says("bcast 5 request=1", "bcast does not accept request=");
  says("waitall request=1", "waitall does not accept request=");
  says("wait requests=1", "wait does not accept requests=");
  says("isend 1 5 100 requests=1", "isend does not accept requests=");
  says("wait 1 5 request=1", "wait needs src dst tag or request=N, got 2 arguments");
  says("waitall requests=1,2,1", "request 1 occurs twice");
  says("waitall requests=1,", "ends in a comma");
  says("waitall requests=1,,2", "request '' is not a number");
  says("wait request=1 request=2", "wait needs");
  says("waitall requests=1 completed=1", "waitall does not accept completed=");
  says("waitany completed=1", "completed= needs requests=");
  says("waitsome requests=1,2 completed=", "completed= is empty");
  says("waitsome requests=1,2 completed=3", "names request 3, which is not in requests=");
  says("waitsome requests=1,2 completed=1,1", "request 1 occurs twice in completed=");
  says("waitany requests=1,2 completed=1,2", "names 2 requests; a waitany completes only one");
}

namespace {

std::int64_t whole(std::string_view text) {
  std::int64_t value = -999;
  return read_whole(text, value) == NumberFault::none ? value : -999;
}

double real(std::string_view text) {
  double value = -999;
  return read_real(text, value) == NumberFault::none ? value : -999;
}

NumberFault fault(std::string_view text) {
  std::int64_t value = 0;
  return read_whole(text, value);
}

}  // namespace

TEST("number: whole numbers in every spelling") {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string_view, std::int64_t>>{{"0", 0},
                                                              {"-333", -333},
                                                              {"+5", 5},
                                                              {"007", 7},
                                                              {"1e6", 1000000},
                                                              {"1E+6", 1000000},
                                                              {"1.0", 1},
                                                              {"1.59373e+06", 1593730},
                                                              {"2.5e1", 25},
                                                              {".5e1", 5},
                                                              {"9223372036854775807", INT64_MAX},
                                                              {"-9223372036854775808", INT64_MIN},
                                                              {"9e18", 9000000000000000000}}) {
    CHECK(whole(text) == value);
  }
}

TEST("number: what is not a whole number says why") {
  for (const char* text : {"1.5", "1e-3"}) CHECK(fault(text) == NumberFault::not_whole);
  for (const char* text : {"9223372036854775808", "1e19", "1e999"}) {
    CHECK(fault(text) == NumberFault::too_large);
  }
  for (const char* text : {"", "+", "-", "+-1", "--1", "x", "1x", "0x10", "nan", "inf", "-inf",
                           "1e", "1 ", "e5", ".", "1.2.3", "1,5"}) {
    CHECK(fault(text) == NumberFault::not_a_number);
  }
}

TEST("number: real numbers are rounded correctly") {
  CHECK(real("1.59373e+06") == 1.59373e+06);
  CHECK(real("0.1") == 0.1);
  CHECK(real("123456789012345678901234567890") == 123456789012345678901234567890.0);
  CHECK(real("1e-999") == 0);
  CHECK(real("1e999") == -999);
  CHECK(real("nan") == -999);
}

}  // namespace tisim
