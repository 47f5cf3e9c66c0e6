// Operations posted by callers: the calls of driven ranks, and activities of hosts.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "checks.hpp"
#include "decoded_call.hpp"
#include "mpi/schedule_check.hpp"
#include "simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// A custom action that a rank needs in order to continue.
struct NeededAction {
  std::int32_t rank = 0;  // global number
  std::vector<std::string> words;
};

NeededAction needed_action(const Simulation& s) {
  if (s.stopped_by() != Stop::need_action && s.stopped_by() != Stop::need_launch)
    throw std::logic_error("no action is needed");
  const Question& need = s.question();
  const Rank& rank = checked_rank(s, need.rank);
  return {need.rank, s.job(rank.job).calls[need.call].words};
}

// Returns a driven rank without a current operation. A dead rank accepts and ignores operations.
const Rank& driven_rank(const Simulation& s, std::int32_t index) {
  const Rank& rank = checked_rank(s, index);
  if (is_dead(rank)) return rank;
  if (!rank.driven) throw std::logic_error("the rank takes its operations from its trace");
  if (rank.phase != Phase::idle && rank.phase != Phase::custom) {
    throw std::logic_error("the rank is still in an operation");
  }
  return rank;
}

// Makes an operation with the line of the enclosing custom action, if any.
Op new_operation(const Rank& rank, Kind kind) {
  Op op;
  op.kind = kind;
  op.line = rank.op.line;
  return op;
}

void check_peer(const Simulation& s, const Rank& rank, std::int32_t peer, bool receives) {
  if (peer == kProcNull || (receives && peer == kAnySource)) return;
  check_index(peer, static_cast<std::size_t>(s.job(rank.job).size), "rank");
}

void post_message(Simulation& s, std::int32_t index, Kind kind, std::int32_t peer, double bytes,
                  std::int32_t tag) {
  const Rank& rank = driven_rank(s, index);
  const bool receives = role_of(kind) == Role::receive;
  if (!receives && role_of(kind) != Role::send) {
    throw std::invalid_argument("this kind of operation is not a message");
  }
  check_peer(s, rank, peer, receives);
  Op op = new_operation(rank, kind);
  op.peer = peer;
  op.tag = tag;
  op.bytes = checked_bytes(bytes);
  s.post(index, op);
}

void post_sendrecv(Simulation& s, std::int32_t index, std::int32_t destination, double sent,
                   std::int32_t send_tag, std::int32_t source, double received,
                   std::int32_t receive_tag) {
  const Rank& rank = driven_rank(s, index);
  check_peer(s, rank, destination, false);
  check_peer(s, rank, source, true);
  Op op = new_operation(rank, Kind::sendrecv);
  op.peer = destination;
  op.bytes = checked_bytes(sent);
  op.tag = send_tag;
  Op half = new_operation(rank, Kind::recv_half);
  half.peer = source;
  half.bytes = checked_bytes(received);
  half.tag = receive_tag;
  half.flags = kContinuation;
  if (is_dead(rank)) return;
  s.post_sendrecv(index, op, half);
}

void check_pending(const Simulation& s, const Rank& rank, std::int32_t request) {
  if (!s.has_pending_request(rank, request)) {
    throw std::out_of_range("the rank has no pending request " + std::to_string(request));
  }
}

// Posts a wait, cancel or request_free.
void post_request(Simulation& s, std::int32_t index, Kind kind, std::int32_t request) {
  const Rank& rank = driven_rank(s, index);
  if (kind != Kind::wait && kind != Kind::cancel && kind != Kind::request_free) {
    throw std::invalid_argument("this kind of operation is not about one request");
  }
  check_pending(s, rank, request);
  Op op = new_operation(rank, kind);
  op.flags = kByNumber;
  op.bytes = request;
  s.post(index, op);
}

// Posts a waitall or waitany for these requests.
void post_requests(Simulation& s, std::int32_t index, Kind kind,
                   const std::vector<std::int32_t>& requests) {
  const Rank& rank = driven_rank(s, index);
  if (kind != Kind::waitall && kind != Kind::waitany) {
    throw std::invalid_argument("this kind of operation is not about several requests");
  }
  std::vector<std::int32_t> ascending = requests;
  std::sort(ascending.begin(), ascending.end());
  if (std::adjacent_find(ascending.begin(), ascending.end()) != ascending.end()) {
    throw std::invalid_argument("a request is listed twice");
  }
  for (const std::int32_t request : requests) check_pending(s, rank, request);
  if (is_dead(rank)) return;
  s.post_for_requests(index, new_operation(rank, kind), requests);
}

void post_waitall(Simulation& s, std::int32_t index) {
  s.post(index, new_operation(driven_rank(s, index), Kind::waitall));
}

void post_compute(Simulation& s, std::int32_t index, double flops) {
  Op op = new_operation(driven_rank(s, index), Kind::compute);
  check_amount(flops, "an amount of computation");
  op.amount = flops;
  s.post(index, op);
}

void post_sleep(Simulation& s, std::int32_t index, double seconds) {
  Op op = new_operation(driven_rank(s, index), Kind::sleep);
  check_amount(seconds, "the length of a sleep");
  op.amount = seconds;
  s.post(index, op);
}

void post_collective(Simulation& s, std::int32_t index, const std::string& name,
                     std::vector<double> arguments) {
  const Rank& rank = driven_rank(s, index);
  Call call;
  call.operation = collective_named(name);
  for (const double argument : arguments) {
    if (!(std::fabs(argument) <= kMaxMessageBytes)) {
      throw std::invalid_argument("an argument of a collective is not a number below 2^53");
    }
  }
  call.arguments = std::move(arguments);
  if (is_dead(rank)) return;
  s.post_collective(index, call);
}

void resume(Simulation& s, std::int32_t index) {
  const Rank& rank = checked_rank(s, index);
  if (!is_dead(rank) && (!rank.driven || rank.phase != Phase::custom)) {
    throw std::logic_error("the rank is in no custom action");
  }
  s.resume(index);
}

std::int32_t execute(Simulation& s, std::int32_t host, double flops) {
  check_host(s, host);
  check_amount(flops, "an amount of computation");
  return s.execute(host, flops);
}

std::int32_t access(Simulation& s, std::int32_t disk, bool writes, double bytes) {
  check_index(disk, s.platform().disk_host.size(), "disk");
  check_amount(bytes, "a number of bytes");
  return s.access(disk, writes ? Access::write : Access::read, bytes);
}

std::int32_t access_file(Simulation& s, std::int32_t file_system, const std::string& name,
                         bool writes, double offset, double bytes, std::int32_t client) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  check_host(s, client);
  const FileRequest request{.type = writes ? FileRequest::Type::write : FileRequest::Type::read,
                            .offset = checked_bytes(offset),
                            .bytes = checked_bytes(bytes)};
  return s.access_file(file_system, name, request, client);
}

std::int32_t transfer(Simulation& s, std::int32_t source, std::int32_t destination, double bytes) {
  check_host(s, source);
  check_host(s, destination);
  check_amount(bytes, "a number of bytes");
  return s.transfer(source, destination, bytes);
}

bool add_gpus(Simulation& s, const GraphPrograms& programs,
              const std::vector<std::int32_t>& sources,
              const std::vector<std::int32_t>& destinations, bool logs) {
  if (sources.size() != destinations.size())
    throw std::invalid_argument("each meeting has two hosts");
  std::vector<std::pair<std::int32_t, std::int32_t>> like;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    check_host(s, sources[i]);
    check_host(s, destinations[i]);
    like.emplace_back(sources[i], destinations[i]);
  }
  for (const LinkUse& use : programs.uses)
    check_index(use.link, s.platform().link_bandwidth.size(), "link");
  return s.add_gpus(programs, std::move(like), logs);
}

std::vector<std::int32_t> graph_mismatch(const Simulation& s) {
  if (s.gpus() == nullptr || !s.gpus()->mismatch()) return {};
  return {s.gpus()->mismatch()->first, s.gpus()->mismatch()->second};
}

std::vector<std::pair<std::int32_t, std::int32_t>> graph_current_nodes(const Simulation& s) {
  if (s.gpus() == nullptr) return {};
  return s.gpus()->graph().current_nodes();
}

void add_route(Simulation& s, std::int32_t source, std::int32_t destination,
               std::vector<std::int32_t> links, double latency) {
  check_host(s, source);
  check_host(s, destination);
  for (const std::int32_t link : links) {
    check_index(link, s.platform().link_bandwidth.size(), "link");
  }
  check_amount(latency, "a latency");
  s.add_route(source, destination, Route{std::move(links), latency});
}

}  // namespace

void register_operations(nb::module_& m, SimulationClass& simulation) {
  nb::class_<NeededAction>(m, "NeededAction",
                           "A custom action that a rank needs in order to continue.")
      .def_ro("rank", &NeededAction::rank, "Index of the rank in the simulation.")
      .def_ro("words", &NeededAction::words, "Words of the trace line.");

  simulation
      .def("needed_action", &needed_action,
           "Returns the action requested by `Stop.NEED_ACTION` or `Stop.NEED_LAUNCH`.")
      .def("add_gpus", &add_gpus, "programs"_a, "sources"_a, "destinations"_a, "logs"_a,
           "Makes the ranks host threads of GPUs. For each meeting, `sources` and `destinations` "
           "give two hosts whose messages share links as one of its channels does. Returns false "
           "if a route is missing (`missing_route`).")
      .def("launch", &Simulation::launch, "block"_a, "times"_a,
           "Answers `Stop.NEED_LAUNCH`: the rank launches the block.")
      .def("graph_mismatch", &graph_mismatch,
           "Returns two mismatched nodes of a meeting; empty if none.")
      .def("graph_current_nodes", &graph_current_nodes,
           "Returns the unfinished streams and the current node of each.")
      .def(
          "graph_spans",
          [](const Simulation& s) {
            if (s.gpus() == nullptr) throw std::logic_error("ranks launch nothing");
            return span_rows(s.gpus()->graph());
          },
          "See `GraphRun.spans`.")
      .def("resume", &resume, "rank"_a, "Continues the rank: its custom action has ended.")
      .def("missing_route", &Simulation::missing_route,
           "Returns the source and destination host of the missing route.")
      .def("add_route", &add_route, "source"_a, "destination"_a, "links"_a, "latency"_a)
      .def(
          "asked_file",
          [](const Simulation& s) {
            if (s.stopped_by() != Stop::need_disk) throw std::logic_error("no disk was asked for");
            const std::int32_t rank = s.question().rank;
            const Rank& asking = s.ranks()[static_cast<std::size_t>(rank)];
            return std::tuple(rank, asking.host, s.asked_file());
          },
          "Returns the rank that needs a disk, its host, and the file name.")
      .def(
          "provide_disk",
          [](Simulation& s, std::int32_t disk) {
            const PlatformData& platform = s.platform();
            check_index(disk, platform.disk_host.size() + platform.file_systems.size(), "disk");
            s.provide_disk(disk);
          },
          "disk"_a,
          "Answers `Stop.NEED_DISK` with a disk, or with a file system, numbered after all disks.")
      .def("retry", &Simulation::retry,
           "Continues after `Stop.NEED_ROUTE`: the route has been added.")
      .def("post_message", &post_message, "rank"_a, "kind"_a, "peer"_a, "nbytes"_a, "tag"_a)
      .def("post_sendrecv", &post_sendrecv, "rank"_a, "destination"_a, "sent"_a, "send_tag"_a,
           "source"_a, "received"_a, "receive_tag"_a)
      .def("post_request", &post_request, "rank"_a, "kind"_a, "request"_a)
      .def("post_requests", &post_requests, "rank"_a, "kind"_a, "requests"_a)
      .def("post_waitall", &post_waitall, "rank"_a)
      .def("post_compute", &post_compute, "rank"_a, "flops"_a)
      .def("post_sleep", &post_sleep, "rank"_a, "seconds"_a)
      .def("post_collective", &post_collective, "rank"_a, "operation"_a, "arguments"_a)
      .def("execute", &execute, "host"_a, "flops"_a, "Returns the number of the activity.")
      .def("access", &access, "disk"_a, "writes"_a, "nbytes"_a,
           "Returns the number of the activity.")
      .def_prop_ro("disks", [](const Simulation& s) { return s.platform().disk_host.size(); })
      .def("access_file", &access_file, "file_system"_a, "name"_a, "writes"_a, "offset"_a,
           "nbytes"_a, "client"_a,
           "Returns the number of the activity, or -1 if the route to a server is missing "
           "(`missing_route`).")
      .def("transfer", &transfer, "source"_a, "destination"_a, "nbytes"_a,
           "Returns the number of the activity, or -1 if the route is missing (`missing_route`).");
}

}  // namespace tisim
