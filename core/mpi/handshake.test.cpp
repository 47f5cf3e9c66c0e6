#include "mpi/handshake.hpp"

#include "core/simulation_testing.hpp"

namespace tisim::test {

namespace {

// Every packet of n bytes takes 1 s of latency plus n / 1000 s; a request has 40 bytes, an answer
// 64. Messages of 500 bytes or more use rendezvous.
Model fifo_model(const std::string& rendezvous = "put", std::int64_t send_buffer = 0) {
  Model model = simple_model();
  model.ordering = "fifo";
  model.rendezvous = rendezvous;
  model.send_buffer = send_buffer;
  model.detached_threshold = 500;
  model.fragment_bytes = 1000;
  model.fragments_queued = 1;
  return model;
}

const Program kTwoSends = {"send 1 0 400", "send 1 0 400"};
const Program kTwoReceives = {"recv 0 0 400", "recv 0 0 400"};

TEST("fifo: messages of one connection go one after the other, with their latencies at once") {
  CHECK(finishes({kTwoSends, kTwoReceives}, {0, 1.8}, fifo_model()));
  CHECK(finishes({kTwoSends, kTwoReceives}, {0, 2.8}));  // the second starts when it is received
}

TEST("fifo: messages to others do not wait") {
  CHECK(finishes({{"send 1 0 400", "send 2 0 400"}, {"recv 0 0 400"}, {"recv 0 0 400"}},
                 {0, 1.4, 1.4}, fifo_model()));
}

TEST("fifo: a short message is under way before its receive is posted") {
  CHECK(finishes({{"send 1 0 400"}, {"sleep 5", "recv 0 0 400"}}, {0, 5}, fifo_model()));
}

TEST("fifo: a rendezvous takes a request, an answer and the body") {
  // 1.04 + 1.064 + 2
  CHECK(finishes({{"send 1 0 1000"}, {"recv 0 0 1000"}}, {4.104, 4.104}, fifo_model()));
}

TEST("fifo: a request is answered when the receive is posted and it was read in a call") {
  CHECK(finishes({{"send 1 0 1000"}, {"sleep 5", "recv 0 0 1000"}}, {8.064, 8.064}, fifo_model()));
  // The receive is posted before the request arrives, but the rank is in no call that reads it.
  CHECK(finishes({{"send 1 0 1000"}, {"irecv 0 0 1000", "sleep 5", "waitall"}}, {8.064, 8.064},
                 fifo_model()));
  // A wait for another message reads it, so the receive finds nothing left to read.
  CHECK(finishes({{"send 1 0 1000"},
                  {"recv 2 0 0", "irecv 0 0 1000", "sleep 5", "waitall"},
                  {"sleep 2", "send 1 0 0"}},
                 {6.064, 8, 2}, fifo_model()));
}

TEST("fifo: a test reads what has arrived") {
  CHECK(finishes({{"send 1 0 1000"}, {"irecv 0 0 1000", "sleep 5", "test 0 1 0", "sleep 5"}},
                 {8.064, 10}, fifo_model()));
}

TEST("fifo: a sender writes the body when it has read the answer in a call") {
  CHECK(finishes({{"isend 1 0 1000", "sleep 5", "waitall"}, {"recv 0 0 1000"}}, {7, 7},
                 fifo_model()));
}

TEST("fifo: what a receiver gets needs no call of the sender") {
  CHECK(finishes({{"isend 1 0 1000", "sleep 5", "waitall"}, {"recv 0 0 1000"}}, {5, 4.104},
                 fifo_model("get")));
}

TEST("fifo: a sender goes on when its connection has taken over the rest") {
  CHECK(finishes({{"send 1 0 1000"}, {"recv 0 0 1000"}}, {2.104, 4.104}, fifo_model("put", 1000)));
  // The first 600 bytes have moved by then.
  CHECK(finishes({{"send 1 0 1000"}, {"recv 0 0 1000"}}, {3.704, 4.104}, fifo_model("put", 400)));
}

TEST("fifo: the sender of a body goes on when it is acknowledged, and then its receiver") {
  // 4.104 as above, plus 1.009 and 1.022, for any send buffer.
  for (const std::int64_t buffer : {0, 400}) {
    CHECK(finishes({{"send 1 0 1000"}, {"recv 0 0 1000"}}, {5.113, 6.135},
                   fifo_model("put-ack", buffer)));
  }
  // Short messages, and those of a rank to itself, are not acknowledged.
  CHECK(finishes({{"send 1 0 400"}, {"recv 0 0 400"}}, {0, 1.4}, fifo_model("put-ack")));
  CHECK(finishes({{"isend 0 0 1000", "irecv 0 0 1000", "waitall"}}, {2}, fifo_model("put-ack")));
}

TEST("fifo: a body is acknowledged, and that read, in a call") {
  // The receiver is outside MPI from 3.1 to 9; the body arrives at 4.104.
  CHECK(finishes({{"send 1 0 1000"},
                  {"irecv 0 0 1000", "recv 2 0 0", "sleep 5.9", "waitall"},
                  {"sleep 2.1", "send 1 0 0"}},
                 {10.009, 11.031, 2.1}, fifo_model("put-ack")));
  // The sender is outside MPI from 3.1 to 9; the acknowledgement arrives at 5.113.
  CHECK(finishes({{"isend 1 0 1000", "recv 2 0 0", "sleep 5.9", "waitall"},
                  {"recv 0 0 1000"},
                  {"sleep 2.1", "send 0 0 0"}},
                 {9, 10.022, 2.1}, fifo_model("put-ack")));
}

TEST("fifo: a request may carry the first part, and the rest follows in fragments") {
  // The request has 500 bytes: 1.5 + 1.064, then 1,000 bytes, then 500.
  CHECK(finishes({{"send 1 0 2000"}, {"recv 0 0 2000"}}, {6.064, 6.064}, fifo_model("send")));
  // With two fragments queued, the second pays no latency of its own.
  Model model = fifo_model("send");
  model.fragments_queued = 2;
  CHECK(finishes({{"send 1 0 2000"}, {"recv 0 0 2000"}}, {5.064, 5.064}, model));
}

// Rank 1 is late, but inside MPI, where it reads the request of rank 0.
std::vector<Program> late_exchange(const std::string& first, const std::string& second) {
  return {{"irecv 1 1 1000", "isend 1 1 1000", "waitall"},
          {"recv 2 0 0", first, second, "waitall"},
          {"sleep 4", "send 1 0 0"}};
}

TEST("fifo: an answer waits for a body of the rank's own that was queued before it") {
  // At 5 rank 1 answers and then sends its request. Rank 0 gets both at 6.064 and queues its body;
  // its answer arrives behind the body at 8.064.
  CHECK(finishes(late_exchange("irecv 0 1 1000", "isend 0 1 1000"), {10.064, 10.064, 4},
                 fifo_model()));
}

TEST("fifo: who asks before it answers sends and receives at once") {
  // Rank 0 gets both at 6.04 and answers first; its body arrives at 8.104.
  CHECK(
      finishes(late_exchange("isend 0 1 1000", "irecv 0 1 1000"), {9.104, 9.104, 4}, fifo_model()));
}

TEST("fifo: a sendrecv posts its receive first") {
  std::vector<Program> programs = late_exchange("sendrecv 1000 0 1000 0", "sleep 0");
  programs[0] = {"sendrecv 1000 1 1000 1"};
  CHECK(finishes(programs, {10.064, 10.064, 4}, fifo_model()));
}

TEST("fifo: a message of a rank to itself needs no handshake") {
  CHECK(finishes({{"isend 0 0 1000", "sleep 1", "irecv 0 0 1000", "waitall"}}, {3}, fifo_model()));
}

TEST("fifo: a waitany and persistent requests take part in handshakes") {
  CHECK(finishes({{"isend 1 0 1000", "isend 2 0 1000", "waitany 2", "send 3 0 0", "waitall"},
                  {"sleep 9", "recv 0 0 1000"},
                  {"recv 0 0 1000"},
                  {"recv 0 0 0"}},
                 {12.064, 12.064, 4.104, 5.104}, fifo_model()));
  CHECK(finishes({{"send_init 1 0 1000", "start 0 1 0", "waitall"}, {"recv 0 0 1000"}},
                 {4.104, 4.104}, fifo_model()));
}

TEST("fifo: a report can tell where a message is") {
  Replay replay({{"irecv 1 0 9", "isend 1 1 1000", "recv 1 0 9"}, {"recv 0 0 9"}}, fifo_model());
  CHECK(replay.run().stop == Stop::deadlock);
  const Rank& rank = replay.simulation.ranks()[0];
  CHECK(rank.phase == Phase::waiting);
  CHECK(replay.simulation.transfer_status_of(rank.waiting).where ==
        TransferStatus::Where::elsewhere);
}

TEST("jitter: starts and sizes are drawn with a seed, and stay in their bounds") {
  Model model = fifo_model();
  model.jitter_start = 0.5;
  model.jitter_size = 0.1;
  const auto ends = [&](std::uint64_t seed) {
    model.jitter_seed = seed;
    Replay replay({{"send 1 0 400"}, {"recv 0 0 400"}}, model);
    replay.run();
    return std::pair{replay.finish(0), replay.finish(1)};
  };
  CHECK(ends(1) == ends(1) && ends(1) != ends(2));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto [sent, received] = ends(seed);
    CHECK(sent >= 0 && sent < 0.5);
    CHECK(received - sent >= 1.36 && received - sent <= 1.44);
  }
}

}  // namespace

}  // namespace tisim::test
