#include "mpi/matcher.hpp"

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "core/simulation_testing.hpp"
#include "core/test.hpp"

namespace tisim {

namespace {

constexpr std::int32_t kRanks = 8;

// Posts sends and receives like a simulation; a message's `bytes` identifies it.
class Post {
 public:
  Post() { matcher.add_destinations(kRanks); }

  // Returns the receive that the send matches, or -1 if it waits.
  std::int64_t send(std::int32_t source, std::int32_t destination, std::int32_t tag,
                    std::int64_t name, std::int32_t context = 0) {
    Channel& channel = matcher.channel(source, destination, tag, context);
    const std::int32_t found = matcher.take_receive(channel);
    if (found >= 0) return released(found);
    matcher.leave_unexpected(
        made(source, destination, tag, name, context, MessageState::unexpected));
    return -1;
  }

  // Returns the message that the receive matches, or -1 if it waits.
  std::int64_t receive(std::int32_t source, std::int32_t destination, std::int32_t tag,
                       std::int64_t name, std::int32_t context = 0) {
    const std::int32_t found = matcher.take_message(source, destination, tag, context);
    if (found >= 0) return released(found);
    matcher.post_receive(
        made(source, destination, tag, name, context, MessageState::posted_receive));
    return -1;
  }

  bool peek(std::int32_t source, std::int32_t destination, std::int32_t tag) {
    return matcher.peek(source, destination, tag, 0) >= 0;
  }

  // Withdraws a waiting message.
  void withdraw(std::int64_t name) {
    matcher.withdraw(made_.at(name));
    matcher.messages().release(made_.at(name));
  }

  Matcher matcher;

 private:
  std::map<std::int64_t, std::int32_t> made_;

  std::int32_t made(std::int32_t source, std::int32_t destination, std::int32_t tag,
                    std::int64_t name, std::int32_t context, MessageState state) {
    const std::int32_t made = made_[name] = matcher.messages().acquire();
    Message& message = matcher.message(made);
    message = Message{};
    message.bytes = name;
    message.source = source;
    message.destination = destination;
    message.tag = tag;
    message.context = context;
    message.state = state;
    return made;
  }
  std::int64_t released(std::int32_t found) {
    const std::int64_t name = matcher.message(found).bytes;
    matcher.message(found).state = MessageState::matched;
    matcher.messages().release(found);
    return name;
  }
};

}  // namespace

TEST("matcher: looking leaves the message there") {
  Post post;
  CHECK(!post.peek(kAnySource, 1, kAnyTag));
  CHECK(post.send(0, 1, 5, 100) == -1);
  CHECK(post.peek(0, 1, 5));
  CHECK(post.peek(kAnySource, 1, 5));
  CHECK(post.peek(0, 1, kAnyTag));
  CHECK(!post.peek(0, 1, 6));
  CHECK(post.receive(0, 1, 5, 200) == 100);
  CHECK(!post.peek(0, 1, 5));
}

TEST("matcher: channels follow the messages that wait, not the tags that were used") {
  Post post;
  for (std::int32_t tag = 0; tag < 40000; ++tag) {
    CHECK(post.send(0, 1, tag, tag) == -1);
    if (tag % 2 == 0) CHECK(post.receive(0, 1, tag, 0) == tag);
  }
  for (std::int32_t tag = 40000; tag < 400000; ++tag) {
    CHECK(post.receive(2, 3, tag, 0) == -1);
    CHECK(post.send(2, 3, tag, tag) == 0);
  }
  CHECK(post.matcher.channels() < 100000);
  for (std::int32_t tag = 1; tag < 40000; tag += 2) CHECK(post.receive(0, 1, tag, 0) == tag);
}

TEST("matcher: the channels of a crowd of messages are gone when nearly all have been received") {
  Post post;
  for (std::int32_t tag = 0; tag < 50000; ++tag) CHECK(post.send(0, 1, tag, tag) == -1);
  for (std::int32_t tag = 0; tag < 50000; ++tag) CHECK(post.receive(0, 1, tag, 0) == tag);
  CHECK(post.matcher.channels() < 10000);
}

// The matching rules of MPI, by linear search of lists.
TEST("matcher: random programs match as the lists of the standard do") {
  struct Posted {
    std::int32_t source, destination, tag, context;
    std::int64_t name;
  };
  std::mt19937 random(11);
  Post post;
  std::deque<Posted> sends;
  std::deque<Posted> receives;
  const auto fits = [](const Posted& send, const Posted& receive) {
    return send.destination == receive.destination && send.context == receive.context &&
           (receive.source == kAnySource || receive.source == send.source) &&
           (receive.tag == kAnyTag || receive.tag == send.tag);
  };
  for (std::int64_t name = 0; name < 40000; ++name) {
    const auto draw = [&random](std::uint32_t count) {
      return static_cast<std::int32_t>(random() % count);
    };
    // Uses many tags now and then, so that the channel table grows and is rebuilt.
    Posted entry{draw(kRanks), draw(kRanks), draw(name % 8000 < 2000 ? 2000 : 3), draw(2), name};
    std::int64_t expected = -1;
    std::int64_t got = -1;
    const bool more_sends = name / 500 % 2 == 0;
    if (draw(10) < (more_sends ? 6 : 4)) {
      for (auto at = receives.begin(); at != receives.end(); ++at) {
        if (!fits(entry, *at)) continue;
        expected = at->name;
        receives.erase(at);
        break;
      }
      if (expected < 0) sends.push_back(entry);
      got = post.send(entry.source, entry.destination, entry.tag, name, entry.context);
    } else {
      if (draw(4) == 0) entry.source = kAnySource;
      if (draw(4) == 0) entry.tag = kAnyTag;
      for (auto at = sends.begin(); at != sends.end(); ++at) {
        if (!fits(*at, entry)) continue;
        expected = at->name;
        sends.erase(at);
        break;
      }
      if (expected < 0) receives.push_back(entry);
      got = post.receive(entry.source, entry.destination, entry.tag, name, entry.context);
    }
    CHECK(got == expected);
    std::deque<Posted>& some = draw(2) == 0 ? sends : receives;
    if (draw(20) == 0 && !some.empty()) {
      const auto withdrawn = some.begin() + draw(static_cast<std::uint32_t>(some.size()));
      post.withdraw(withdrawn->name);
      some.erase(withdrawn);
    }
    if (name % 1000 == 0) post.matcher.verify();
    CHECK(post.matcher.messages().in_use() == sends.size() + receives.size());
  }
}

}  // namespace tisim

namespace tisim::test {

// Rejected programs. The effect of each call is tested against the Python kernel and SimGrid.

namespace {

std::string error_of(const Program& program) {
  try {
    finishes({program, {}}, {0, 0});
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST("numbers that name no request, or are not free") {
  CHECK(contains(error_of({"wait request=1"}), "rank-0:2: no request 1"));
  CHECK(contains(error_of({"isend 1 0 5 request=1", "wait request=1", "wait request=1"}),
                 "rank-0:4: no request 1"));
  CHECK(contains(error_of({"waitall requests=7"}), "rank-0:2: no request 7"));
  CHECK(contains(error_of({"irecv 1 0 5 request=1", "irecv 1 0 5 request=1"}),
                 "rank-0:3: request 1 is still pending"));
  CHECK(contains(error_of({"isend 1 0 5 request=1", "start request=1"}),
                 "rank-0:3: request 1 is not persistent"));
  CHECK(contains(error_of({"recv_init 1 0 5 request=1", "start request=1", "start request=1"}),
                 "rank-0:4: request 1 is still active"));
}

TEST("what cannot be cancelled or freed is named") {
  CHECK(contains(error_of({"cancel request=0"}), "no request 0"));
  CHECK(contains(error_of({"request_free request=0"}), "no request 0"));
  CHECK(contains(error_of({"isend 1 1 10 request=0", "request_free request=0", "wait request=0"}),
                 "no request 0"));
  CHECK(contains(error_of({"recv_init 1 1 10 request=0", "cancel request=0"}), "is not active"));
}

}  // namespace

}  // namespace tisim::test
