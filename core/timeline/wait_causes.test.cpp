#include "timeline/wait_causes.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/test.hpp"

namespace tisim::test {
namespace {

StateRow state_of(std::int32_t rank, State state, double start, double end) {
  StateRow row{};
  row.start = start;
  row.end = end;
  row.started = kNoTime;
  row.rank = rank;
  row.cause = row.peer = -1;
  row.state = static_cast<std::uint8_t>(state);
  return row;
}

// A rank waits until `from` sends.
StateRow wait_of(std::int32_t rank, std::int32_t from, double start, double end) {
  StateRow row = state_of(rank, State::late_sender, start, end);
  row.cause = from;
  return row;
}

double sum(const std::vector<CauseShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0,
                         [](double all, const CauseShare& share) { return all + share.seconds; });
}

}  // namespace

TEST("a wait is due to what the late rank computes longer") {
  const std::vector<StateRow> states{
      state_of(1, State::compute, 0.0, 2.0),
      state_of(0, State::compute, 0.0, 5.0),
      wait_of(1, 0, 2.0, 5.0),
  };
  const WaitCauses causes(states, 2);
  const auto shares = causes.of(2);
  CHECK(shares.size() == 1);
  CHECK(shares[0].row == 1);
  CHECK(shares[0].state == static_cast<std::uint8_t>(State::compute));
  CHECK(shares[0].seconds == 3.0);
  CHECK(causes.of(0).empty());  // no wait
}

TEST("a rank that waited itself is not the cause") {
  // Rank 0 computes for long, 1 waits for it, and 2 for 1.
  const std::vector<StateRow> states{
      state_of(1, State::compute, 0.0, 1.0), state_of(2, State::compute, 0.0, 2.0),
      state_of(0, State::compute, 0.0, 6.0), wait_of(1, 0, 1.0, 6.0),
      state_of(1, State::compute, 6.0, 7.0), wait_of(2, 1, 2.0, 7.0),
  };
  const WaitCauses causes(states, 3);
  const auto shares = causes.of(5);
  CHECK(sum(shares) == 5.0);
  const auto most = *std::max_element(
      shares.begin(), shares.end(),
      [](const CauseShare& a, const CauseShare& b) { return a.seconds < b.seconds; });
  CHECK(most.row == 2);
  CHECK(most.seconds == 5.0);  // the second of rank 1 cancels with one of rank 2
  CHECK(causes.late_path(5).back() == 2);
}

TEST("equal computations on both paths cancel") {
  // Both compute 10 s; 1 s before them is what rank 0 has more.
  const std::vector<StateRow> states{
      state_of(0, State::overhead, 0.0, 1.0),
      state_of(1, State::compute, 0.0, 10.0),
      state_of(0, State::compute, 1.0, 11.0),
      wait_of(1, 0, 10.0, 11.0),
  };
  const auto shares = WaitCauses(states, 2).of(3);
  CHECK(shares.size() == 1);
  CHECK(shares[0].row == 0);
  CHECK(shares[0].seconds == 1.0);
}

TEST("sums of causes add up to the waits of all ranks") {
  const std::vector<StateRow> states{
      state_of(1, State::compute, 0.0, 2.0),
      state_of(2, State::compute, 0.0, 3.0),
      state_of(0, State::compute, 0.0, 5.0),
      wait_of(1, 0, 2.0, 5.0),
      wait_of(2, 0, 3.0, 5.0),
  };
  const WaitCauses causes(states, 3);
  const CauseSums sums = causes.sums();
  CHECK(sums.by_row[2].seconds == 5.0);
  CHECK(sums.by_row[2].ranks == 2);
  CHECK(sums.by_rank[static_cast<int>(State::compute)].seconds == 5.0);  // of rank 0
  CHECK(sums.explained.size() == 2);
  CHECK(sums.explained[0].seconds == 3.0);  // rank 1 first
  CHECK(sums.explained[1].wait == 4);
}

}  // namespace tisim::test
