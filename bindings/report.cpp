// What Python asks a simulation when it cannot go on, or has been interrupted.

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "simulation/simulation.hpp"
#include "simulation.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

nb::tuple describe(const OpenCollective& collective) {
  return nb::make_tuple(collective.rank, name_of(collective.operation, collective.blocking),
                        collective.line, collective.entered);
}

// Why a message never arrives: what went off or died, its number, and when; None: it may.
nb::object loss_of(const Simulation& s, std::int32_t message) {
  if (s.faults() == nullptr) return nb::none();
  const auto found = s.faults()->lost.find(message);
  if (found == s.faults()->lost.end()) return nb::none();
  static constexpr const char* names[] = {"link", "host", "rank"};
  const Loss& loss = found->second;
  return nb::make_tuple(names[static_cast<int>(loss.cause)], loss.index, loss.date);
}

nb::tuple describe(Simulation& s, std::int32_t message, const Rank& rank, bool receives) {
  const Message& m = s.message(message);
  return nb::make_tuple(receives, m.source < 0 ? m.source : m.source - rank.first,
                        m.destination - rank.first, m.tag, m.bytes, m.flowing, loss_of(s, message));
}

// Ranks that were killed: the rank, when, and the host that died with it (-1: it was to be).
nb::list deaths(const Simulation& s) {
  nb::list list;
  if (s.faults() == nullptr) return list;
  for (const Death& death : s.faults()->deaths) {
    list.append(nb::make_tuple(death.rank, death.date, death.host));
  }
  return list;
}

// The messages of the pending requests that a rank waits for.
nb::list awaited(Simulation& s, std::int32_t index) {
  const Rank& rank = s.ranks()[static_cast<std::size_t>(index)];
  nb::list messages;
  for (std::int32_t at = rank.pending_first; at >= 0; at = s.request(at).next) {
    const Request& request = s.request(at);
    if (!request.awaited || request.complete || request.message < 0) continue;
    messages.append(describe(s, request.message, rank, request.side == kReceiver));
  }
  return messages;
}

// A rank that has not finished: what it was doing, for the report of a deadlock.
nb::dict rank_state(Simulation& s, std::int32_t index) {
  const Rank& rank = s.ranks()[static_cast<std::size_t>(index)];
  nb::dict state;
  const Op call = rank.schedule >= 0 ? rank.collective.op() : rank.op;
  state["rank"] = rank.number;
  state["job"] = rank.job;
  state["finished"] = rank.phase == Phase::finished;
  state["dead"] = is_dead(rank);
  state["computing"] = rank.phase == Phase::computing;
  state["kind"] = static_cast<int>(call.kind);
  state["peer"] = call.peer;
  state["tag"] = call.tag;
  state["bytes"] = call.bytes;
  state["comm"] = call.comm;
  state["flags"] = call.flags;
  state["host"] = rank.host;
  state["line"] = call.line;
  state["file"] = s.file_of(rank);
  const bool collective = call.kind == Kind::collective || call.kind == Kind::icollective ||
                          call.kind == Kind::comm_split || call.kind == Kind::comm_dup;
  state["call"] = "";
  if (collective) {
    const Call& line = s.job(rank.job).calls[static_cast<std::uint32_t>(call.call)];
    state["call"] = name_of(line.operation, call.kind != Kind::icollective);
    state["communicator"] = s.communicator_of(rank, call.comm);
  }
  state["awaited"] = rank.awaited;
  if (rank.phase == Phase::waiting) {
    state["message"] = describe(s, rank.waiting, rank, rank.waiting_side == kReceiver);
  }
  return state;
}

// The ranks of a communicator that have not entered the oldest collective that others are in.
std::vector<std::int32_t> absent(const Simulation& s, std::int32_t comm) {
  const Communicator& communicator = s.communicator(comm);
  std::vector<std::int32_t> ranks;
  if (communicator.open.empty()) return ranks;
  for (std::size_t i = 0; i < communicator.entered.size(); ++i) {
    if (communicator.entered[i] > communicator.first_open) continue;
    const std::int32_t rank = communicator.member(static_cast<std::int32_t>(i));
    ranks.push_back(s.ranks()[static_cast<std::size_t>(rank)].number);
  }
  return ranks;
}

// Of each communicator of a job the oldest collective that some of its ranks have not entered, and
// its number.
nb::list open_collectives(const Simulation& s, std::int32_t job) {
  nb::list open;
  for (std::int32_t comm = 0; comm < s.communicator_count(); ++comm) {
    const Communicator& communicator = s.communicator(comm);
    if (communicator.open.empty()) continue;
    if (s.ranks()[static_cast<std::size_t>(communicator.member(0))].job != job) continue;
    open.append(nb::make_tuple(comm, describe(communicator.open.front())));
  }
  return open;
}

// The ranks of a job whose traces name a type of a width that their tracer lost.
std::vector<std::int32_t> lost_types(const Simulation& s, std::int32_t index) {
  const Job& job = s.job(index);
  std::vector<std::int32_t> ranks;
  for (std::int32_t i = 0; i < job.size; ++i) {
    const Rank& rank = s.ranks()[static_cast<std::size_t>(job.first + i)];
    if (rank.lost_type || (rank.reader && rank.reader->uses_lost_type())) ranks.push_back(i);
  }
  return ranks;
}

// The simulated time, actions done, and the part of the traces that this is, 0 to 1.
nb::tuple headway(Simulation& s) {
  const auto all = static_cast<double>(s.trace_bytes());
  const double part = all > 0 ? static_cast<double>(s.headway().bytes) / all : 1.0;
  return nb::make_tuple(s.now(), s.headway().actions, part);
}

// How far the ranks of a job are, exactly: actions done, the part of the traces that this is, the
// rank that is furthest behind (none: all have finished) and the part of its trace that it has
// done.
nb::tuple standing(Simulation& s, std::int32_t index) {
  if (index >= s.job_count() || !s.job(index).traces) return nb::make_tuple(0, 0.0, -1, 0.0);
  const Job& job = s.job(index);
  std::uint64_t actions = 0;
  double done = 0;
  double all = 0;
  double least = 0;
  std::int32_t last = -1;
  for (std::int32_t i = job.first; i < job.first + job.size; ++i) {
    const Rank& rank = s.ranks()[static_cast<std::size_t>(i)];
    const auto size = static_cast<double>(job.traces->bytes_of(rank.number));
    actions += rank.actions;
    done += rank.bytes_done();
    all += size;
    if (rank.phase == Phase::finished || size == 0) continue;
    if (last >= 0 && rank.bytes_done() / size >= least) continue;
    last = i;
    least = rank.bytes_done() / size;
  }
  return nb::make_tuple(actions, all > 0 ? done / all : 1.0, last, least);
}

}  // namespace

void define_report(nb::class_<Simulation>& simulation) {
  simulation.def("deaths", &deaths)
      .def("rank_state", &rank_state)
      .def("unfinished",
           [](const Simulation& s) {
             nb::list ranks;
             for (std::size_t i = 0; i < s.ranks().size(); ++i) {
               const Rank& rank = s.ranks()[i];
               const bool is_over = rank.phase == Phase::finished || is_dead(rank);
               if (!is_over && rank.phase != Phase::idle) ranks.append(i);
             }
             return ranks;
           })
      .def("awaited", &awaited)
      .def("absent", &absent)
      .def("open_collectives", &open_collectives)
      .def("lost_types", &lost_types)
      .def("headway", &headway)
      .def("standing", &standing, "job"_a)
      .def_prop_ro("mismatched", &Simulation::mismatched)
      .def("mismatch", [](const Simulation& s) {
        return nb::make_tuple(describe(s.mismatch().first), describe(s.mismatch().second));
      });
}

}  // namespace tisim
