#include "trace/volumes/adjusted_reader.hpp"

#include <string>
#include <vector>

#include "core/packed_testing.hpp"
#include "core/test.hpp"

namespace tisim {

TEST("speedups: a packed trace and its text give the same volumes") {
  // The second `location a.c 1` comes from another place than the first one.
  const std::string text =
      "0 location b.c 2\n0 compute 8\n0 location a.c 1\n0 compute 8\n"
      "0 location c.c 3\n0 compute 8\n0 location a.c 1\n0 compute 8\n";
  TraceOptions options;
  options.speedups = {{"b.c:2:a.c:1", 2.0}, {"c.c:3:a.c:1", 4.0}};
  const test::Scratch scratch;
  const std::string packed = test::packed({text, "1 init\n"}, scratch);
  for (const auto& set :
       {TraceSet::open(test::files_of({text, "1 init\n"}), "text", Dialect::modern, options),
        TraceSet::open({test::file_of(packed)}, "packed", Dialect::modern, options)}) {
    CallTable calls;
    std::vector<double> volumes;
    for (const Op& op : test::read_all(*set, 0, calls)) {
      CHECK(op.flags == 0);
      if (op.kind == Kind::compute) volumes.push_back(op.amount);
    }
    CHECK((volumes == std::vector<double>{8, 4, 8, 2}));
  }
}

}  // namespace tisim
