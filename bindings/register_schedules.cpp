// Schedules of collectives: the core's requests, and the rows with which Python answers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <stdexcept>
#include <variant>

#include "checks.hpp"
#include "decoded_call.hpp"
#include "mpi/schedule_check.hpp"
#include "simulation.hpp"
#include "trace/vocabulary/table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

std::string name_of(Operation operation, bool blocking) {
  if (is_collective(operation)) {
    return std::string(name_of(blocking ? Kind::collective : Kind::icollective, operation));
  }
  if (operation == Operation::comm_split) return std::string(traits_of(Kind::comm_split).name);
  if (operation == Operation::comm_dup) return std::string(traits_of(Kind::comm_dup).name);
  if (operation == Operation::comm_group) return std::string(traits_of(Kind::comm_group).name);
  throw std::invalid_argument("no collective has that number");
}

namespace {

// A schedule that a rank needs in order to continue.
struct NeededSchedule {
  std::int32_t rank = 0;            // global number
  std::int32_t comm = 0;            // index of the communicator
  std::int32_t number = 0;          // rank in the communicator
  std::string operation;            // the action name
  std::optional<DecodedCall> call;  // collectives only
  Stage stage = Stage::none;
  bool joins = false;
  std::int64_t transfer = -1;  // number of a collective read or write
  std::vector<std::vector<std::int32_t>> groups;
};

NeededSchedule needed_schedule(const Simulation& s) {
  if (s.stopped_by() != Stop::need_schedule) throw std::logic_error("no schedule is needed");
  const Question& need = s.question();
  const Rank& rank = checked_rank(s, need.rank);
  const Call& call = s.job(rank.job).calls[need.call];
  NeededSchedule needed;
  needed.rank = need.rank;
  needed.comm = need.comm;
  needed.number = need.number;
  needed.operation = name_of(call.operation, need.blocking);
  needed.stage = need.stage;
  if (need.stage == Stage::none) {
    const Op op = rank.schedule >= 0 ? rank.collective.op() : rank.op;
    needed.call.emplace(call, need.blocking, checked_communicator(s, need.comm).size,
                        s.file_of(rank), op.line);
  } else if (need.stage == Stage::transfer) {
    needed.transfer = s.asked_transfer().number;
  } else if (need.stage != Stage::parts) {
    needed.joins = s.question_rank_joins();
  }
  if (need.stage == Stage::groups && need.number == 0) needed.groups = s.new_groups();
  return needed;
}

// A column written by an algorithm, with unchecked contents.
class Column {
 public:
  Column(const nb::object& values, const char* name) : name_(name) {
    if (!PyList_Check(values.ptr()) && !PyTuple_Check(values.ptr())) {
      throw ScheduleError(std::string("its ") + name + "s are not a list");
    }
    items_ = nb::steal(PySequence_Tuple(values.ptr()));
    if (!items_.is_valid()) throw nb::python_error();
  }

  // `step` returns the step of a row, for messages.
  template <class StepOf>
  std::vector<std::int32_t> whole_numbers(StepOf step) const {
    std::vector<std::int32_t> numbers(size());
    for (std::size_t row = 0; row < numbers.size(); ++row) {
      int overflow = 0;
      const long value = PyLong_AsLongAndOverflow(item(row), &overflow);
      const bool failed = PyErr_Occurred() != nullptr;
      if (failed) PyErr_Clear();
      if (failed || overflow != 0 || value < std::numeric_limits<std::int32_t>::min() ||
          value > std::numeric_limits<std::int32_t>::max()) {
        fail(step(row), row, "a whole number of 32 bits");
      }
      numbers[row] = static_cast<std::int32_t>(value);
    }
    return numbers;
  }

  template <class StepOf>
  std::vector<double> real_numbers(StepOf step) const {
    std::vector<double> numbers(size());
    for (std::size_t row = 0; row < numbers.size(); ++row) {
      numbers[row] = PyFloat_AsDouble(item(row));
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        fail(step(row), row, "a number");
      }
    }
    return numbers;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(PyTuple_Size(items_.ptr())); }
  PyObject* item(std::size_t row) const {
    return PyTuple_GetItem(items_.ptr(), static_cast<Py_ssize_t>(row));
  }
  [[noreturn]] void fail(std::size_t step, std::size_t row, const char* expected) const {
    constexpr Py_ssize_t kMaxShown = 40;
    const nb::object text = nb::steal(PyObject_Repr(item(row)));
    std::string shown = "something";
    if (text.is_valid()) {
      const nb::object cut = nb::steal(PyUnicode_Substring(text.ptr(), 0, kMaxShown));
      shown = nb::cast<std::string>(cut);
    } else {
      PyErr_Clear();
    }
    throw ScheduleError("step " + std::to_string(step) + ": its " + name_ + " is " + shown +
                            ", which is not " + expected,
                        static_cast<std::int64_t>(row));
  }

  const char* name_;
  nb::object items_;
};

void check_and_provide(Simulation& s, const nb::object& kinds, const nb::object& peers,
                       const nb::object& sizes, const nb::object& tags, const nb::object& slots,
                       bool last) {
  const auto codes = Column(kinds, "kind").whole_numbers([](std::size_t row) { return row + 1; });
  std::vector<std::int32_t> of_peers;
  const auto step = [&](std::size_t row) { return step_of(codes, of_peers, row); };
  of_peers = Column(peers, "peer").whole_numbers(step);
  const auto of_sizes = Column(sizes, "size").real_numbers(step);
  const auto of_tags = Column(tags, "tag").whole_numbers(step);
  const auto of_slots = Column(slots, "slot").whole_numbers(step);
  s.provide_schedule(codes, of_peers, of_sizes, of_tags, of_slots, last);
}

// Python's ScheduleError has the message and the row.
void provide_schedule(Simulation& s, const nb::object& kinds, const nb::object& peers,
                      const nb::object& sizes, const nb::object& tags, const nb::object& slots,
                      bool last) {
  try {
    check_and_provide(s, kinds, peers, sizes, tags, slots, last);
  } catch (const ScheduleError& error) {
    const nb::object type = nb::module_::import_("tisim._core").attr("ScheduleError");
    PyErr_SetObject(type.ptr(), nb::make_tuple(error.what(), error.row).ptr());
    throw nb::python_error();
  }
}

// Returns consecutive numbers as a range, which is fast for a million hosts, and others as a list.
nb::object sequence_of(const std::vector<std::int32_t>& numbers) {
  bool consecutive = true;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    consecutive = consecutive && numbers[i] - numbers[i - 1] == 1;
  }
  if (!consecutive || numbers.empty()) return nb::cast(numbers);
  return nb::borrow(reinterpret_cast<PyObject*>(&PyRange_Type))(numbers.front(),
                                                                numbers.back() + 1);
}

template <class Get>
std::vector<std::int32_t> of_members(const Simulation& s, std::int32_t comm, Get get) {
  const Communicator& communicator = checked_communicator(s, comm);
  std::vector<std::int32_t> values(static_cast<std::size_t>(communicator.size));
  for (std::int32_t i = 0; i < communicator.size; ++i) {
    const Rank& rank = s.ranks()[static_cast<std::size_t>(communicator.member(i))];
    values[static_cast<std::size_t>(i)] = get(rank);
  }
  return values;
}

nb::object comm_hosts(const Simulation& s, std::int32_t comm) {
  return sequence_of(of_members(s, comm, [](const Rank& rank) { return rank.host; }));
}

std::optional<std::vector<std::int32_t>> comm_order(const Simulation& s, std::int32_t comm) {
  const auto numbers = of_members(s, comm, [](const Rank& rank) { return rank.number; });
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] <= numbers[i - 1]) return numbers;
  }
  return std::nullopt;
}

}  // namespace

void register_schedules(nb::module_& m, SimulationClass& simulation) {
  nb::exception<ScheduleError>(m, "ScheduleError");

  nb::enum_<StepCode>(m, "StepCode", nb::is_arithmetic(), "Operation of a row of a schedule.")
      .value("SEND", StepCode::send)
      .value("SSEND", StepCode::ssend)
      .value("ISEND", StepCode::isend)
      .value("RECV", StepCode::recv)
      .value("IRECV", StepCode::irecv)
      .value("WAIT", StepCode::wait)
      .value("WAITALL", StepCode::waitall)
      .value("SENDRECV", StepCode::sendrecv)
      .value("RECV_HALF", StepCode::recv_half)
      .value("COMPUTE", StepCode::compute)
      .value("FILE_READ", StepCode::file_read)
      .value("FILE_WRITE", StepCode::file_write)
      .value("FILE_IREAD", StepCode::file_iread)
      .value("FILE_IWRITE", StepCode::file_iwrite)
      .value("FILE_OFFSET", StepCode::file_offset)
      .value("FILE_OWN", StepCode::file_own);

  nb::enum_<Stage>(m, "Stage", "Step of a communicator creation, or of a collective read or write.")
      .value("NONE", Stage::none, "Not such a step: the schedule of a collective.")
      .value("COLORS", Stage::colors, "Rank 0 gathers the colors and keys.")
      .value("GROUPS", Stage::groups, "Rank 0 scatters the new communicators.")
      .value("NUMBER", Stage::number, "The ranks of a new communicator agree on its number.")
      .value("PARTS", Stage::parts, "The ranks exchange the file ranges they access.")
      .value("TRANSFER", Stage::transfer, "The ranks read or write the file.");

  nb::class_<CollectiveTransfer>(m, "CollectiveTransfer",
                                 "A collective read or write: the range of each rank.")
      .def_ro("writes", &CollectiveTransfer::writes)
      .def_ro("disk", &CollectiveTransfer::disk,
              "Disk of the file; file systems are numbered after all disks.")
      .def_ro("offsets", &CollectiveTransfer::offsets, "Offset of each rank, bytes.")
      .def_ro("bytes", &CollectiveTransfer::bytes, "Size of each rank's range.")
      .def_ro(
          "pieces", &CollectiveTransfer::pieces,
          "Offsets and sizes per rank, if a view leaves holes in some rank's range; else empty.");

  nb::class_<NeededSchedule>(m, "NeededSchedule",
                             "A schedule that a rank needs in order to continue.")
      .def_ro("rank", &NeededSchedule::rank, "Index of the rank in the simulation.")
      .def_ro("comm", &NeededSchedule::comm, "Index of the communicator.")
      .def_ro("number", &NeededSchedule::number, "The rank's number in the communicator.")
      .def_ro("operation", &NeededSchedule::operation, "Action name.")
      .def_prop_ro(
          "call", [](const NeededSchedule& s) { return s.call ? &*s.call : nullptr; },
          nb::rv_policy::reference_internal,
          nb::for_getter(nb::sig("def call(self, /) -> CollectiveCall | None")),
          "The decoded call of a collective; None in the stages of a communicator creation.")
      .def_ro("stage", &NeededSchedule::stage)
      .def_ro("joins", &NeededSchedule::joins,
              "Whether the rank will be a member of a new communicator.")
      .def_ro("groups", &NeededSchedule::groups,
              "Ranks of each new communicator, for rank 0 in the stage GROUPS.")
      .def_ro("transfer", &NeededSchedule::transfer,
              "Number of the collective read or write in the stage TRANSFER; otherwise -1.");

  simulation
      .def("needed_schedule", &needed_schedule,
           "Returns the schedule requested by `Stop.NEED_SCHEDULE`. Raises tisim.InputError if the "
           "call does not fit its communicator.")
      .def("provide_schedule", &provide_schedule, "kinds"_a.none(), "peers"_a.none(),
           "sizes"_a.none(), "tags"_a.none(), "slots"_a.none(), "last"_a,
           nb::sig("def provide_schedule(self, kinds: Sequence[int], peers: Sequence[int], "
                   "sizes: Sequence[float], tags: Sequence[int], slots: Sequence[int], "
                   "last: bool) -> None"),
           "Answers `Stop.NEED_SCHEDULE` with the columns of the schedule. Raises ScheduleError "
           "with a message and the wrong row (-1: all). `last`: later equal calls need other "
           "schedules.")
      .def(
          "asked_transfer",
          [](const Simulation& s) {
            if (s.stopped_by() != Stop::need_schedule || s.question().stage != Stage::transfer) {
              throw std::logic_error("no schedule of a collective read or write is needed");
            }
            return s.asked_transfer();
          },
          "Returns the ranges of the ranks, in the stage TRANSFER.")
      .def("take_released", &Simulation::take_released,
           "Returns the communicators freed by all members; their indices may be reused.")
      .def("comm_hosts", &comm_hosts, "comm"_a,
           nb::sig("def comm_hosts(self, comm: int) -> range | list[int]"),
           "Returns the host of each rank of a communicator.")
      .def("comm_order", &comm_order, "comm"_a,
           "Returns the world rank of each rank of a communicator; None if in ascending order.")
      .def("kept_schedules", [](const Simulation& s) { return s.schedules().kept(); });
}

}  // namespace tisim
