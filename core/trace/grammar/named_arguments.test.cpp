// Arguments with a name: `request=`, `requests=`, `comm=`.
#include "core/test.hpp"
#include "core/trace_testing.hpp"

namespace tisim {

using test::Sample;

namespace {

// True if a line makes an operation whose request has number 3, and one that gives the number.
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
  const auto fails = [](const char* line, Dialect dialect, const char* part) {
    try {
      const Sample wrong({line}, 2, dialect);
    } catch (const TraceError& error) {
      return std::string(error.what()).find(part) != std::string::npos;
    }
    return false;
  };
  CHECK(fails("cancel -333 -333 -779", Dialect::modern, "not for the request of a collective"));
  CHECK(fails("request_free", Dialect::legacy, "request_free needs request=N"));
  CHECK(fails("cancel 1 0", Dialect::modern, "cancel needs src dst tag"));
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
  const auto fails = [](const std::string& line, const char* message) {
    std::string said;
    try {
      Sample({line});
    } catch (const TraceError& error) {
      said = error.what();
    }
    const bool right = said.find(message) != std::string::npos;
    if (!right) std::fprintf(stderr, "%s: %s\n", line.c_str(), said.c_str());
    CHECK(right);
  };
  fails("isend 1 5 100 request=", "request '' is not a number");
  fails("isend 1 5 100 request=-1", "request '-1' is not between 0 and 2147483647");
  fails("isend 1 5 100 request=2147483648", "is not between");
  fails("isend 1 5 100 request=1.5", "request '1.5' is not a whole number");
  fails("send 1 5 100 request=1", "send takes no request=: it neither makes nor names a request");
  fails("bcast 5 request=1", "bcast takes no request=");
  fails("waitall request=1", "waitall takes no request=");
  fails("wait requests=1", "wait takes no requests=");
  fails("isend 1 5 100 requests=1", "isend takes no requests=");
  fails("wait 1 5 request=1", "wait needs src dst tag or request=N, got 2 arguments");
  fails("waitall requests=1,2,1", "request 1 stands twice");
  fails("waitall requests=1,", "ends in a comma");
  fails("waitall requests=1,,2", "request '' is not a number");
  fails("wait request=1 request=2", "wait needs");
  fails("waitall requests=1 completed=1", "waitall takes no completed=");
  fails("waitany completed=1", "completed= needs a requests=");
  fails("waitsome requests=1,2 completed=", "completed= is empty");
  fails("waitsome requests=1,2 completed=3", "names request 3, which is not in requests=");
  fails("waitsome requests=1,2 completed=1,1", "request 1 stands twice in completed=");
  fails("waitany requests=1,2 completed=1,2", "names 2 requests; a waitany completes one");
}

}  // namespace tisim
