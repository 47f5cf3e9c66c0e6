// Corrupts the state of a simulation in the middle of a run to test `verify`.

#include <string>

#include "core/simulation_testing.hpp"
#include "support/invariant.hpp"

namespace tisim {

struct MatcherTesting {
  static void miscount(Matcher& matcher) { ++matcher.inboxes_[0].count; }
  static void cut(Matcher& matcher) { matcher.inboxes_[0].newest = -1; }
  static void count_wildcard(Matcher& matcher) { ++matcher.inboxes_[0].wildcards; }
};

struct RequestTableTesting {
  static Pool<Request>& pool(RequestTable& requests) { return requests.requests_; }
};

namespace test {
namespace {

// Rank 0 waits for two requests; messages, a computation and a sleep are in progress.
class Middle {
 public:
  Middle()
      : replay({{"comm_dup 0 5", "irecv 1 7 1000", "irecv 2 7 1000", "barrier", "waitall"},
                {"comm_dup 0 5", "barrier", "sleep 10", "send 0 7 1000"},
                {"comm_dup 0 5", "send 0 9 1000", "barrier", "compute 5", "send 0 7 1000"}}) {
    Stop stop = replay.simulation.run(1.0);
    while (stop == Stop::need_schedule) {
      replay.simulation.provide_schedule({}, {}, {}, {}, {}, false);
      stop = replay.simulation.run(1.0);
    }
    replay.simulation.verify();
  }
  Mpi& mpi() { return SimulationTesting::mpi(replay.simulation); }
  Rank& rank(std::int32_t index) { return SimulationTesting::ranks(replay.simulation)[index]; }

  Replay replay;
};

#define CHECK_BROKEN(middle, part) \
  CHECK_THROWS((middle).replay.simulation.verify(), BrokenInvariant, part)

TEST("verify: inboxes count their messages") {
  Middle a;
  MatcherTesting::miscount(a.mpi().matcher);
  CHECK_BROKEN(a, "an inbox counts its messages");
  Middle b;
  MatcherTesting::cut(b.mpi().matcher);
  CHECK_BROKEN(b, "an inbox");
  Middle c;
  MatcherTesting::count_wildcard(c.mpi().matcher);
  CHECK_BROKEN(c, "counts the wildcard receives");
}

TEST("verify: a message waits in the channel of its key") {
  Middle a;
  Pool<Message>& messages = a.mpi().matcher.messages();
  messages[a.mpi().requests[a.rank(0).pending.first].message].tag = 1;
  CHECK_BROKEN(a, "in the channel of its key");
}

TEST("verify: no message is lost without having been matched") {
  Middle a;
  a.mpi().matcher.messages().acquire();
  CHECK_BROKEN(a, "every unmatched message waits in a channel");
}

TEST("verify: a message is released once") {
  Middle a;
  Pool<Message>& messages = a.mpi().matcher.messages();
  const std::int32_t message = messages.acquire();
  messages.release(message);
  messages.release(message);
  CHECK_BROKEN(a, "a message is released once");
}

TEST("verify: pending requests form a list") {
  Middle a;
  a.rank(0).pending.last = -1;
  CHECK_BROKEN(a, "the list of pending requests ends with its last entry");
  Middle b;
  b.mpi().requests.listing(b.rank(0).pending.last).previous = -1;
  CHECK_BROKEN(b, "the list of pending requests is doubly linked");
}

TEST("verify: requests know their messages and whether these have arrived") {
  Middle a;
  a.mpi().requests[a.rank(0).pending.first].complete = true;
  CHECK_BROKEN(a, "a request is complete when its message has arrived");
  Middle b;
  b.mpi().matcher.message(b.mpi().requests[b.rank(0).pending.first].message).request[kReceiver] = 0;
  b.mpi().matcher.message(b.mpi().requests[b.rank(0).pending.last].message).request[kReceiver] = 0;
  CHECK_BROKEN(b, "a message links to its request");
}

TEST("verify: awaited requests are counted") {
  Middle a;
  a.rank(0).awaited = 0;
  CHECK_BROKEN(a, "awaited requests are counted");
}

TEST("verify: communicators have contexts of their own, and members that know them") {
  Middle a;
  a.mpi().communicators[1].context = a.mpi().communicators[0].context;
  CHECK_BROKEN(a, "its own context");
  Middle b;
  b.mpi().communicators[1].first = 1;
  CHECK_BROKEN(b, "members of a communicator are ranks");
  Middle c;
  c.mpi().communicators[1].context = 1;
  CHECK_BROKEN(c, "even");
}

TEST("verify: a collective that all have entered is not open") {
  Middle a;
  a.mpi().communicators[0].open.push_back({.entered = 3});
  CHECK_BROKEN(a, "ranks enter the collectives of a communicator in order");
}

TEST("verify: ranks are in schedules that are kept") {
  Middle a;
  Rank& rank = a.rank(0);
  rank.schedule = 0;
  rank.step = 1000;
  CHECK_BROKEN(a, "schedule");
}

TEST("verify: no event is in the past") {
  Middle a;
  SimulationTesting::clock(a.replay.simulation).move_to(100.0);
  CHECK_BROKEN(a, "no event of the agenda is in the past");
}

TEST("verify: hosts know their places in the agenda") {
  Middle a;
  Clock& clock = SimulationTesting::clock(a.replay.simulation);
  clock.agenda().update(50.0, EventType::cpu, 0);
  a.replay.simulation.verify();
  clock.agenda().push(60.0, EventType::cpu, 0);  // a second event of the host
  CHECK_BROKEN(a, "agenda");
}

TEST("verify: events of the agenda have a type") {
  Middle a;
  Clock& clock = SimulationTesting::clock(a.replay.simulation);
  clock.agenda().push(50.0, EventType::wake_activity, 0);
  clock.agenda().push(50.0, EventType::round, 0);
  a.replay.simulation.verify();
  clock.agenda().push(50.0, static_cast<EventType>(7), 0);
  CHECK_BROKEN(a, "agenda");
}

TEST("verify: dead ranks stay dead") {
  Replay replay({{"sleep 5"}, {"sleep 9"}});
  replay.simulation.kill_at(0, 2.0);
  CHECK(replay.simulation.run(3.0) == Stop::time);
  replay.simulation.verify();
  SimulationTesting::ranks(replay.simulation)[0].phase = Phase::finished;
  CHECK_THROWS(replay.simulation.verify(), BrokenInvariant, "stays dead");
}

}  // namespace
}  // namespace test
}  // namespace tisim
