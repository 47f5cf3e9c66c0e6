// Reports on a simulation that cannot continue or has been interrupted.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "checks.hpp"
#include "simulation.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// A collective that some ranks have entered and others have not.
struct CollectiveState {
  std::int32_t comm = -1;  // index of the communicator; -1: not given
  std::int32_t rank = 0;   // the first rank to enter, global number
  std::string operation;
  std::uint32_t line = 0;
};

// A message that a rank waits for. Ranks are numbers in the waiting rank's job.
struct MessageState {
  bool receives = false;  // whether the waiting rank is the receiver
  std::int32_t source = 0, destination = 0, tag = 0;
  std::int64_t bytes = 0;
  bool flowing = false;
  bool is_access = false;    // access of a file, without a receiver
  std::string status;        // state of the message in its connection
  std::optional<Loss> loss;  // why it will never arrive
};

// The current activity of a rank.
struct RankState {
  std::int32_t rank = 0;  // number in its job
  std::int32_t job = 0;
  bool finished = false, dead = false, computing = false;
  bool waiting = false;  // whether it waits for something other than time or its host
  Kind kind = Kind::end;
  std::int32_t peer = 0, tag = 0;
  bool mistaken_null = false;
  std::int32_t host = 0;
  std::uint32_t line = 0;
  std::string file;
  std::string call;                          // the action name of a collective; empty: none
  std::optional<std::int32_t> communicator;  // index of the collective's communicator
  std::int32_t awaited = 0;
  std::optional<MessageState> message;  // awaited by a blocking call
  std::int32_t file_system = -1;        // awaited by a call; -1: none
  std::vector<std::int32_t> servers;    // hosts of the servers that have not replied yet
  std::string file_call;                // the action name of a file call; empty: none
  std::string window_call;              // the same for a window call, and its wait
  std::string window_wait;
};

// Progress of a job's ranks.
struct JobProgress {
  std::uint64_t actions = 0;
  double fraction = 0.0;          // completed fraction of the traces
  std::int32_t slowest = -1;      // the rank furthest behind; -1: all have finished
  double slowest_fraction = 0.0;  // completed fraction of its trace
};

struct SimulationProgress {
  double time = 0.0;  // simulated seconds
  std::uint64_t actions = 0;
  double fraction = 0.0;  // completed fraction of the traces
};

CollectiveState describe(const OpenCollective& collective, std::int32_t comm) {
  return {comm, collective.rank, name_of(collective.operation, collective.blocking),
          collective.line};
}

// Describes the wait of a rendezvous over FIFO connections; empty: none.
std::string status_text(const Simulation& s, std::int32_t index, const Rank& rank) {
  const Message& message = s.message(index);
  const TransferStatus status = s.transfer_status_of(index);
  std::string text = status.type == PacketType::request           ? "its request"
                     : status.type == PacketType::answer          ? "the answer to its request"
                     : status.type == PacketType::acknowledgement ? "its acknowledgement"
                     : status.type == PacketType::completion      ? "its completion"
                                                                  : "its body";
  if (status.where == TransferStatus::Where::unread) {
    const std::int32_t reader =
        is_read_by_receiver(status.type) ? message.destination : message.source;
    return text + " has arrived, and rank " + std::to_string(reader - rank.first) +
           " is in no call that reads it";
  }
  if (status.where == TransferStatus::Where::queued) {
    if (status.before == 0) return text + " is under way";
    return text + " is queued behind " + std::to_string(status.before) +
           (status.before == 1 ? " other" : " others");
  }
  return {};
}

MessageState describe(Simulation& s, std::int32_t index, const Rank& rank, bool receives) {
  const Message& message = s.message(index);
  MessageState state;
  state.receives = receives;
  state.source = message.source < 0 ? message.source : message.source - rank.first;
  state.destination = message.destination - rank.first;
  state.tag = message.tag;
  state.bytes = message.bytes;
  state.flowing = message.flowing;
  state.is_access = !receives && message.pair < 0;
  if (!state.is_access) state.status = status_text(s, index, rank);
  if (const Loss* loss = s.loss_of(index)) state.loss = *loss;
  return state;
}

const char* cause_name(const Loss& loss) {
  switch (loss.cause) {
    case Loss::Cause::link:
      return "link";
    case Loss::Cause::host:
      return "host";
    default:
      return "rank";
  }
}

std::vector<Death> deaths(const Simulation& s) { return s.deaths(); }

// Returns the messages of the pending requests that a rank waits for.
std::vector<MessageState> awaited(Simulation& s, std::int32_t index) {
  const Rank& rank = checked_rank(s, index);
  std::vector<MessageState> messages;
  for (std::int32_t at = rank.pending.first; at >= 0; at = s.request_after(at)) {
    const Request& request = s.request(at);
    if (!request.awaited || request.complete || request.message < 0) continue;
    messages.push_back(describe(s, request.message, rank, request.side == kReceiver));
  }
  return messages;
}

bool waits(Phase phase) {
  return phase == Phase::waiting || phase == Phase::waiting_all || phase == Phase::waiting_any ||
         phase == Phase::waiting_for_any_send || phase == Phase::synchronising ||
         phase == Phase::accessing || phase == Phase::in_window || phase == Phase::custom ||
         phase == Phase::launching;
}

RankState rank_state(Simulation& s, std::int32_t index) {
  const Rank& rank = checked_rank(s, index);
  const Op call = rank.schedule >= 0 ? rank.collective.op() : rank.op;
  RankState state;
  state.rank = rank.number;
  state.job = rank.job;
  state.finished = rank.phase == Phase::finished;
  state.dead = is_dead(rank);
  state.computing = rank.phase == Phase::computing;
  state.waiting = waits(rank.phase);
  state.kind = call.kind;
  state.peer = call.peer;
  state.tag = call.tag;
  state.mistaken_null = (call.flags & kNullIsMistaken) != 0;
  state.host = rank.host;
  state.line = call.line;
  state.file = s.file_of(rank);
  const Role role = role_of(call.kind);
  const bool collective = role == Role::collective || role == Role::make_communicator;
  if (collective) {
    const Call& line = s.job(rank.job).calls[static_cast<std::uint32_t>(call.call)];
    state.call = name_of(line.operation, call.kind != Kind::icollective);
    state.communicator = s.communicator_of(rank, call.comm);
  }
  state.awaited = rank.awaited;
  if (rank.phase == Phase::accessing) {
    FileSystems::Wait wait = s.file_systems().wait_of(index);
    state.file_system = wait.file_system;
    state.servers = std::move(wait.hosts);
  }
  if (rank.stage == Stage::parts || rank.stage == Stage::transfer) {
    state.call =
        s.files().asked_transfer(index).writes ? "the collective write" : "the collective read";
  }
  if (rank.op.kind == Kind::file) state.file_call = name_of(Kind::file, file_call_of(rank.op));
  if (rank.op.kind == Kind::window) {
    state.window_call = name_of(Kind::window, window_call_of(rank.op));
    state.window_wait = s.windows().wait_of(rank, index);
  }
  if (rank.phase == Phase::waiting) {
    state.message = describe(s, rank.waiting, rank, rank.waiting_side == kReceiver);
  }
  return state;
}

std::vector<std::int32_t> unfinished(const Simulation& s) {
  std::vector<std::int32_t> ranks;
  for (std::size_t i = 0; i < s.ranks().size(); ++i) {
    const Rank& rank = s.ranks()[i];
    const bool is_over = rank.phase == Phase::finished || is_dead(rank);
    if (!is_over && rank.phase != Phase::idle) ranks.push_back(static_cast<std::int32_t>(i));
  }
  return ranks;
}

// Returns the ranks missing from the oldest open collective of a communicator.
std::vector<std::int32_t> absent(const Simulation& s, std::int32_t comm) {
  const Communicator& communicator = checked_communicator(s, comm);
  std::vector<std::int32_t> ranks;
  if (communicator.open.empty()) return ranks;
  for (std::size_t i = 0; i < communicator.entered.size(); ++i) {
    if (communicator.entered[i] > communicator.first_open) continue;
    const std::int32_t rank = communicator.member(static_cast<std::int32_t>(i));
    ranks.push_back(s.ranks()[static_cast<std::size_t>(rank)].number);
  }
  return ranks;
}

// Returns, for each communicator of a job, the oldest collective not entered by all its ranks.
std::vector<CollectiveState> open_collectives(const Simulation& s, std::int32_t job) {
  checked_job(s, job);
  std::vector<CollectiveState> open;
  for (std::int32_t comm = 0; comm < s.communicator_count(); ++comm) {
    const Communicator& communicator = s.communicator(comm);
    if (communicator.open.empty()) continue;
    if (s.ranks()[static_cast<std::size_t>(communicator.member(0))].job != job) continue;
    open.push_back(describe(communicator.open.front(), comm));
  }
  return open;
}

// Returns the two different collectives that ranks of a communicator call at the same point.
std::pair<CollectiveState, CollectiveState> mismatch(const Simulation& s) {
  if (!s.mismatched()) throw std::logic_error("all ranks call the same collectives");
  return {describe(s.mismatch().first, -1), describe(s.mismatch().second, -1)};
}

// Returns the write that does not fit on its disk.
FullDisk full_disk(const Simulation& s) {
  if (!s.found_full_disk()) throw std::logic_error("no disk is full");
  return s.files().full_disk();
}

// Returns the ranks of a job whose traces use a type whose width the tracer lost.
std::vector<std::int32_t> lost_types(const Simulation& s, std::int32_t index) {
  const Job& job = checked_job(s, index);
  std::vector<std::int32_t> ranks;
  for (std::int32_t i = 0; i < job.size; ++i) {
    const Rank& rank = s.ranks()[static_cast<std::size_t>(job.first + i)];
    if (rank.lost_type || (rank.reader && rank.reader->uses_lost_type())) ranks.push_back(i);
  }
  return ranks;
}

SimulationProgress progress(Simulation& s) {
  const auto all = static_cast<double>(s.trace_bytes());
  const double fraction = all > 0 ? static_cast<double>(s.progress().bytes) / all : 1.0;
  return {s.now(), s.progress().actions, fraction};
}

// Exact but slow. A job that has not begun has zero progress.
JobProgress job_progress(const Simulation& s, std::int32_t index) {
  JobProgress progress;
  if (index >= s.job_count()) return progress;
  const Job& job = checked_job(s, index);
  if (!job.traces) return progress;
  double done = 0;
  double all = 0;
  for (std::int32_t i = job.first; i < job.first + job.size; ++i) {
    const Rank& rank = s.ranks()[static_cast<std::size_t>(i)];
    const auto size = static_cast<double>(job.traces->bytes_of(rank.number));
    progress.actions += rank.actions;
    done += rank.bytes_done();
    all += size;
    if (rank.phase == Phase::finished || size == 0) continue;
    const double fraction = rank.bytes_done() / size;
    if (progress.slowest >= 0 && fraction >= progress.slowest_fraction) continue;
    progress.slowest = i;
    progress.slowest_fraction = fraction;
  }
  progress.fraction = all > 0 ? done / all : 1.0;
  return progress;
}

void register_rank_states(nb::module_& m) {
  nb::class_<Loss>(m, "Loss", "Why a message never arrives.")
      .def_prop_ro("cause", &cause_name, "What failed: link, host or rank.")
      .def_ro("index", &Loss::index, "Index of the link, host or rank.")
      .def_ro("date", &Loss::date, "Seconds.");
  nb::class_<Death>(m, "Death", "A rank that was killed.")
      .def_ro("rank", &Death::rank)
      .def_ro("date", &Death::date, "Seconds.")
      .def_ro("host", &Death::host, "The failed host, or -1 if the rank was killed on request.");
  nb::class_<MessageState>(m, "MessageState", "A message that a rank waits for.")
      .def_ro("receives", &MessageState::receives, "Whether the waiting rank is the receiver.")
      .def_ro("source", &MessageState::source)
      .def_ro("destination", &MessageState::destination)
      .def_ro("tag", &MessageState::tag)
      .def_ro("bytes", &MessageState::bytes)
      .def_ro("flowing", &MessageState::flowing, "Whether its transfer has started.")
      .def_ro("is_access", &MessageState::is_access, "Whether it is a file access.")
      .def_ro("status", &MessageState::status, "State in its connection, if messages are ordered.")
      .def_ro("loss", &MessageState::loss);
  nb::class_<CollectiveState>(m, "CollectiveState", "A collective in progress.")
      .def_ro("comm", &CollectiveState::comm, "Index of the communicator.")
      .def_ro("rank", &CollectiveState::rank, "The first rank to enter; index in the simulation.")
      .def_ro("operation", &CollectiveState::operation)
      .def_ro("line", &CollectiveState::line);
  nb::class_<RankState>(m, "RankState", "Current activity of a rank.")
      .def_ro("rank", &RankState::rank, "Rank in its job.")
      .def_ro("job", &RankState::job)
      .def_ro("finished", &RankState::finished)
      .def_ro("dead", &RankState::dead)
      .def_ro("computing", &RankState::computing)
      .def_ro("waiting", &RankState::waiting,
              "Whether it waits for something other than time or its host.")
      .def_ro("kind", &RankState::kind)
      .def_ro("peer", &RankState::peer)
      .def_ro("tag", &RankState::tag)
      .def_ro("mistaken_null", &RankState::mistaken_null,
              "Whether it is a receive whose source -333 was read as MPI_ANY_SOURCE.")
      .def_ro("host", &RankState::host)
      .def_ro("line", &RankState::line)
      .def_ro("file", &RankState::file)
      .def_ro("call", &RankState::call, "Action name of the current collective; empty if none.")
      .def_ro("communicator", &RankState::communicator, "Index of the collective's communicator.")
      .def_ro("awaited", &RankState::awaited, "Number of requests not finished yet.")
      .def_ro("message", &RankState::message, "Message awaited by a blocking call.")
      .def_ro("file_system", &RankState::file_system,
              "File system awaited by the call; -1 if none.")
      .def_ro("servers", &RankState::servers, "Hosts of the servers that have not replied yet.")
      .def_ro("window_call", &RankState::window_call,
              "Action name of the current window call; empty if none.")
      .def_ro("window_wait", &RankState::window_wait, "Description of the window call's wait.")
      .def_ro("file_call", &RankState::file_call,
              "Action name of the current file call; empty if none.");
  nb::class_<FullDisk>(m, "FullDisk", "A write that does not fit on its disk.")
      .def_ro("rank", &FullDisk::rank, "Index of the rank in the simulation.")
      .def_ro("disk", &FullDisk::disk,
              "Index of the disk; file systems are numbered after all disks.")
      .def_ro("file", &FullDisk::file, "File name in quotes.")
      .def_ro("capacity", &FullDisk::capacity, "Size of the disk, bytes.")
      .def_ro("used", &FullDisk::used, "Bytes of the disk used by files.")
      .def_ro("offset", &FullDisk::offset, "Offset of the write, bytes.")
      .def_ro("bytes", &FullDisk::bytes, "Size of the write.")
      .def_ro("wanted", &FullDisk::wanted, "Additional bytes needed by the write.");
  nb::class_<SimulationProgress>(m, "SimulationProgress", "Progress of a simulation.")
      .def_ro("time", &SimulationProgress::time, "Simulated seconds.")
      .def_ro("actions", &SimulationProgress::actions)
      .def_ro("fraction", &SimulationProgress::fraction, "Completed fraction of the traces.");
  nb::class_<JobProgress>(m, "JobProgress", "Progress of a job's ranks.")
      .def_ro("actions", &JobProgress::actions)
      .def_ro("fraction", &JobProgress::fraction, "Completed fraction of the traces.")
      .def_ro("slowest", &JobProgress::slowest,
              "The rank furthest behind; -1 if all have finished.")
      .def_ro("slowest_fraction", &JobProgress::slowest_fraction,
              "Completed fraction of its trace.");
}

}  // namespace

void register_report(nb::module_& m, SimulationClass& simulation) {
  register_rank_states(m);
  simulation.def("deaths", &deaths)
      .def("rank_state", &rank_state, "rank"_a)
      .def("unfinished", &unfinished)
      .def("awaited", &awaited, "rank"_a)
      .def("absent", &absent, "comm"_a)
      .def("open_collectives", &open_collectives, "job"_a)
      .def("lost_types", &lost_types, "job"_a)
      .def("progress", &progress)
      .def("job_progress", &job_progress, "job"_a)
      .def_prop_ro("mismatched", &Simulation::mismatched)
      .def("mismatch", &mismatch)
      .def_prop_ro("found_full_disk", &Simulation::found_full_disk)
      .def("full_disk", &full_disk);
}

}  // namespace tisim
