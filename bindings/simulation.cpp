// One simulation, as Python drives it.
#include "simulation/simulation.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "simulation.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

// The word of a collective's line; a number for what is no collective.
std::string name_of(Operation operation, bool blocking) {
  const Kind kind = blocking ? Kind::collective : Kind::icollective;
  for (const Action& action : known_actions()) {
    const bool collective = action.form == Form::collective && action.kind == kind;
    const bool communicator = action.form == Form::comm_split || action.form == Form::comm_dup;
    if (action.operation == operation && (collective || communicator)) {
      return std::string(action.name);
    }
  }
  throw std::invalid_argument("no collective has that number");
}

namespace {

template <class T>
nb::object to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

template <class T, class Get>
nb::object column(const Simulation& simulation, const Job& job, Get get) {
  std::vector<T> values(static_cast<std::size_t>(job.size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = get(simulation.ranks()[static_cast<std::size_t>(job.first) + i]);
  }
  return to_numpy(std::move(values));
}

// One column a quantity, one row a rank of the job.
nb::dict rank_columns(const Simulation& s, std::int32_t index) {
  const Job& job = s.job(index);
  nb::dict columns;
  columns["finish"] = column<double>(s, job, [](const Rank& r) { return r.finish; });
  columns["compute"] = column<double>(s, job, [](const Rank& r) { return r.compute; });
  columns["other"] = column<double>(s, job, [](const Rank& r) { return r.other; });
  columns["actions"] = column<std::int64_t>(
      s, job, [](const Rank& r) { return static_cast<std::int64_t>(r.actions); });
  columns["bytes_sent"] = column<std::int64_t>(s, job, [](const Rank& r) { return r.bytes_sent; });
  columns["messages_sent"] = column<std::int64_t>(
      s, job, [](const Rank& r) { return static_cast<std::int64_t>(r.messages_sent); });
  return columns;
}

// The line of a custom action.
nb::tuple need_of(const Simulation& s) {
  const Need& need = s.need();
  const Rank& rank = s.ranks()[static_cast<std::size_t>(need.rank)];
  return nb::make_tuple(need.rank, s.job(rank.job).calls[need.call].words);
}

nb::object name_of(Stage stage) {
  switch (stage) {
    case Stage::colors:
      return nb::str("colors");
    case Stage::groups:
      return nb::str("groups");
    case Stage::number:
      return nb::str("number");
    default:
      return nb::none();
  }
}

// A schedule that a rank needs.
nb::dict needed_schedule(const Simulation& s) {
  const Need& need = s.need();
  const Rank& rank = s.ranks()[static_cast<std::size_t>(need.rank)];
  const Call& call = s.job(rank.job).calls[need.call];
  nb::dict needed;
  needed["rank"] = need.rank;
  needed["comm"] = need.comm;
  needed["number"] = need.number;
  needed["operation"] = name_of(call.operation, need.blocking);
  needed["arguments"] = call.arguments;
  needed["double_default"] = call.double_default;
  needed["stage"] = name_of(need.stage);
  if (need.stage != Stage::none) needed["member"] = s.needs_member();
  if (need.stage == Stage::groups && need.number == 0) needed["groups"] = s.needed_groups();
  return needed;
}

template <class Get>
nb::object member_column(const Simulation& s, std::int32_t index, Get get) {
  const Communicator& communicator = s.communicator(index);
  std::vector<std::int32_t> values(static_cast<std::size_t>(communicator.size));
  for (std::int32_t i = 0; i < communicator.size; ++i) {
    const Rank& rank = s.ranks()[static_cast<std::size_t>(communicator.member(i))];
    values[static_cast<std::size_t>(i)] = get(rank);
  }
  return to_numpy(std::move(values));
}

nb::object comm_hosts(const Simulation& s, std::int32_t index) {
  return member_column(s, index, [](const Rank& rank) { return rank.host; });
}

nb::object comm_ranks(const Simulation& s, std::int32_t index) {
  return member_column(s, index, [](const Rank& rank) { return rank.number; });
}

// Bytes by [link][bin], of the links that were used.
nb::tuple load_of(Simulation& s) {
  const LinkLoad& load = s.load();
  std::vector<std::int32_t> links;
  std::vector<double> bytes;
  for (std::size_t i = 0; i < load.links(); ++i) {
    if (load.of(i).empty()) continue;
    links.push_back(static_cast<std::int32_t>(i));
    bytes.insert(bytes.end(), load.of(i).begin(), load.of(i).end());
  }
  return nb::make_tuple(load.width(), to_numpy(std::move(links)), to_numpy(std::move(bytes)));
}

Kind kind_of(const std::string& name) {
  for (const Action& action : known_actions()) {
    if (action.name == name) return action.kind;
  }
  throw std::invalid_argument("no action is named " + name);
}

std::string kind_name(int kind) {
  for (const Action& action : known_actions()) {
    if (static_cast<int>(action.kind) == kind) return std::string(action.name);
  }
  return static_cast<Kind>(kind) == Kind::end ? "the end of its trace" : "an operation";
}

int operation_number(const std::string& name) {
  for (const Action& action : known_actions()) {
    if (action.name == name && action.kind == Kind::collective) {
      return static_cast<int>(action.operation);
    }
  }
  throw std::invalid_argument("no collective is named " + name);
}

void post_operation(Simulation& s, std::int32_t rank, int kind, std::int32_t peer, double amount,
                    std::int32_t tag, std::uint8_t flags) {
  Op op;
  op.kind = static_cast<Kind>(kind);
  op.peer = peer;
  op.tag = tag;
  op.flags = flags;
  op.line = s.ranks()[static_cast<std::size_t>(rank)].op.line;  // of the custom action, if any
  if (op.kind == Kind::compute || op.kind == Kind::sleep) {
    op.amount = amount;
  } else {
    op.bytes = static_cast<std::int64_t>(amount);
  }
  s.post(rank, op);
}

void post_sendrecv(Simulation& s, std::int32_t rank, std::int32_t destination, std::int64_t sent,
                   std::int32_t send_tag, std::int32_t source, std::int64_t received,
                   std::int32_t receive_tag) {
  Op op;
  op.kind = Kind::sendrecv;
  op.peer = destination;
  op.bytes = sent;
  op.tag = send_tag;
  op.line = s.ranks()[static_cast<std::size_t>(rank)].op.line;
  Op half = op;
  half.kind = Kind::recv_half;
  half.peer = source;
  half.bytes = received;
  half.tag = receive_tag;
  half.flags = kContinuation;
  s.post_sendrecv(rank, op, half);
}

void post_collective(Simulation& s, std::int32_t rank, const std::string& name,
                     const std::vector<double>& arguments) {
  Call call;
  for (const Action& action : known_actions()) {
    if (action.name == name && action.form == Form::collective) call.operation = action.operation;
  }
  call.arguments = arguments;
  s.post_collective(rank, call);
}

}  // namespace

void register_simulation(nb::module_& m) {
  nb::enum_<Stop>(m, "Stop", "Why a run stopped.")
      .value("DONE", Stop::done)
      .value("TIME", Stop::time)
      .value("PAUSE", Stop::pause)
      .value("NEED_OPS", Stop::need_schedule)
      .value("NEED_ROUTE", Stop::need_route)
      .value("NEED_ACTION", Stop::need_action)
      .value("WAKE", Stop::wake)
      .value("RECORDS", Stop::records)
      .value("MISMATCH", Stop::mismatch)
      .value("DEADLOCK", Stop::deadlock);

  nb::enum_<WokenType>(m, "WokenType", "Who was woken.")
      .value("ACTIVITY", WokenType::activity)
      .value("RANK", WokenType::rank)
      .value("JOB", WokenType::job)
      .value("FAILURE", WokenType::failure);

  m.attr("BY_NUMBER") = static_cast<int>(kByNumber);
  m.def("kind_number", [](const std::string& name) { return static_cast<int>(kind_of(name)); });
  m.def("kind_name", &kind_name);
  m.def("operation_name",
        [](int operation) { return name_of(static_cast<Operation>(operation), true); });
  m.def("operation_number", &operation_number);

  nb::class_<Simulation> simulation(m, "Simulation",
                                    "Ranks that execute operations on a platform.");
  simulation
      .def("__init__",
           [](Simulation* self, const Model& model, std::shared_ptr<PlatformData> platform) {
             new (self) Simulation(model, std::move(platform));
           })
      .def(
          "add_job",
          [](Simulation& s, std::shared_ptr<const TraceSet> traces,
             const nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>&
                 hosts,
             const nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>& starts) {
            return s.add_job(std::move(traces), {hosts.data(), hosts.size()},
                             {starts.data(), starts.size()});
          },
          "traces"_a.none(), "hosts"_a, "starts"_a)
      .def("kill_at", &Simulation::kill_at, "rank"_a, "date"_a)
      .def("run", &Simulation::run, "until"_a, "patience"_a, "including"_a = true,
           nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("now", &Simulation::now)
      .def("need", &need_of)
      .def("needed_schedule", &needed_schedule)
      .def("take_released", &Simulation::take_released)
      .def("provide_schedule",
           [](Simulation& s, const std::vector<std::int32_t>& codes,
              const std::vector<std::int32_t>& peers, const std::vector<double>& sizes,
              const std::vector<std::int32_t>& tags, const std::vector<std::int32_t>& slots,
              bool last) { s.provide_schedule(codes, peers, sizes, tags, slots, last); })
      .def("missing_route", &Simulation::missing_route)
      .def("add_route",
           [](Simulation& s, std::int32_t source, std::int32_t destination,
              const std::vector<std::int32_t>& links, double latency) {
             s.add_route(source, destination, Route{links, latency});
           })
      .def("retry", &Simulation::retry)
      .def("resume", &Simulation::resume)
      .def("post", &post_operation)
      .def("post_sendrecv", &post_sendrecv)
      .def("post_collective", &post_collective)
      .def("next_event", &Simulation::next_event)
      .def("last_request",
           [](const Simulation& s, std::int32_t rank) {
             return s.ranks()[static_cast<std::size_t>(rank)].pending_last;
           })
      .def("world_size",
           [](const Simulation& s, std::int32_t rank) {
             return s.job(s.ranks()[static_cast<std::size_t>(rank)].job).size;
           })
      .def("execute", &Simulation::execute)
      .def("transfer", &Simulation::transfer)
      .def("take_woken",
           [](Simulation& s) {
             nb::list woken;
             for (const Woken& w : s.take_woken()) woken.append(nb::make_tuple(w.type, w.index));
             return woken;
           })
      .def("comm_hosts", &comm_hosts)
      .def("comm_ranks", &comm_ranks)
      .def("world", [](const Simulation& s, std::int32_t job) { return s.job(job).world; })
      .def("first_rank", [](const Simulation& s, std::int32_t job) { return s.job(job).first; })
      .def("record", &Simulation::record, "room"_a)
      .def(
          "take_records",
          [](Simulation& s, bool last) {
            if (last) s.recorder()->give_up();
            return s.recorder()->take();
          },
          "last"_a)
      .def("record_load", &Simulation::record_load, "bins"_a)
      .def("load", &load_of, "Width of a bin in seconds, links used, bytes in each bin.")
      .def("rank_columns", &rank_columns)
      .def("kept_schedules", [](const Simulation& s) { return s.schedules().kept(); });
  define_report(simulation);
}

}  // namespace tisim
