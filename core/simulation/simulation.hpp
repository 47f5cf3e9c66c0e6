// One simulation: ranks that execute operations on a platform. No global state.
//
// `run` goes from instant to instant (simulation/instant.hpp) and runs woken ranks
// (simulation/interpreter.hpp). It returns when its caller has to act; see `Stop`.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "clock/clock.hpp"
#include "event_log/event_log.hpp"
#include "host/cpu.hpp"
#include "host/disks.hpp"
#include "io/file/files.hpp"
#include "io/storage/file_systems.hpp"
#include "mpi/mpi.hpp"
#include "network/network.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"
#include "simulation/action_log.hpp"
#include "simulation/gpus.hpp"
#include "simulation/instant.hpp"
#include "simulation/interpreter.hpp"
#include "simulation/platform_changes.hpp"
#include "simulation/rank_lifetime.hpp"
#include "simulation/steady_states.hpp"
#include "transfer/activities.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

// True if the core was built with TISIM_VERIFY: `run` checks all invariants after every instant.
#ifdef TISIM_VERIFY
inline constexpr bool kVerifies = true;
#else
inline constexpr bool kVerifies = false;
#endif

class Simulation {
 public:
  Simulation(Model model, std::shared_ptr<const PlatformData> platform);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Adds a job with one rank on each of `hosts`. Its ranks start at the current instant, or, unless
  // `starts` is empty, after those delays in seconds.
  std::int32_t add_job(std::shared_ptr<const TraceSet> traces, std::span<const std::int32_t> hosts,
                       std::span<const double> starts = {});
  // Kills the rank at a date, unless it has finished before.
  void kill_at(std::int32_t rank, double date) { changes_.kill_at(rank, date); }

  // Processes events up to `until` (those at `until` itself only if `including`), but not the
  // reactions of ranks woken then. `wall_clock_limit`: wall-clock seconds after which the run
  // pauses.
  Stop run(double until = std::numeric_limits<double>::infinity(),
           double wall_clock_limit = std::numeric_limits<double>::infinity(),
           bool including = true);
  double now() const { return clock_.date(); }
  // Returns the date of the next event, after sharing the network; infinite if there is none.
  double next_event();

  // Starts logging events; `room`: entries after which `run` returns.
  void open_event_log(std::size_t room) { log_.open(room, ranks_.size(), now()); }
  EventLog& event_log() { return log_; }
  void record_load(std::size_t bins) {
    network_.record_load(bins);
    records_load_ = true;
  }
  bool records_load() const { return records_load_; }
  const TimeBins& load() { return network_.load(); }

  // Enables skipping iterations of programs in a steady state (ADR 31). Must be called before jobs
  // are added; excludes logs, changes, failures and posted operations.
  void skip_steady(double tolerance);
  SteadyReport steady_report() const { return steady_ ? steady_->report() : SteadyReport{}; }

  // The reason of the last stop, until it is answered.
  Stop stopped_by() const { return interruption_.reason(); }
  const std::pair<OpenCollective, OpenCollective>& mismatch() const {
    return mpi_.communicators.mismatch();
  }
  bool found_full_disk() const { return interruption_.reason() == Stop::disk_full; }
  bool mismatched() const { return interruption_.reason() == Stop::mismatch; }
  const Question& question() const { return interruption_.question(); }
  // In a communicator creation: whether the rank will be a member; all new communicators as ranks
  // of the parent.
  bool question_rank_joins() const { return mpi_.creation.joins(ranks_[question().rank]); }
  std::vector<std::vector<std::int32_t>> new_groups() const {
    return mpi_.creation.groups(question());
  }
  // Returns the communicators freed by all members; their indices may be reused.
  std::vector<std::int32_t> take_released() { return mpi_.communicators.take_released(); }
  std::pair<std::int32_t, std::int32_t> missing_route() const {
    return {network_.missing_source(), network_.missing_destination()};
  }
  std::vector<Completion> take_completions() { return std::exchange(completions_, {}); }

  // Answers. Rows of a schedule: see `Collectives::provide_schedule`.
  void provide_schedule(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                        std::span<const double> sizes, std::span<const std::int32_t> tags,
                        std::span<const std::int32_t> slots, bool last) {
    if (steady_) note_wildcard_receives(peers);
    mpi_.collectives.provide_schedule(codes, peers, sizes, tags, slots, last);
  }
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    network_.add_route(source, destination, std::move(route));
  }
  // Resumes a rank after its missing route was added.
  void retry();
  // The collective read or write for which a schedule is needed, in the stage `transfer`.
  const CollectiveTransfer& asked_transfer() const {
    return files_.asked_transfer(question().rank);
  }
  // The file whose disk a rank needs, and the answer.
  std::string asked_file() const { return files_.asked_name(ranks_[question().rank]); }
  void provide_disk(std::int32_t disk);

  // Makes the ranks host threads of GPUs, see `Gpus`. Must be called before jobs are added;
  // excludes failures and skipping. Returns false if a route is missing.
  bool add_gpus(GraphPrograms programs, std::vector<std::pair<std::int32_t, std::int32_t>> like,
                bool logs);
  const Gpus* gpus() const { return gpus_.get(); }
  // Launches a block `times` times for the rank that asks for one.
  void launch(std::int32_t block, std::int32_t times);

  // Operations posted by the caller. A driven rank reports each end by `CompletionType::rank`.
  void post(std::int32_t rank, const Op& op);
  void post_sendrecv(std::int32_t rank, const Op& op, const Op& half);
  // Posts a waitall or waitany for pending requests, given by their indices.
  void post_for_requests(std::int32_t rank, const Op& op, std::span<const std::int32_t> requests);
  void post_collective(std::int32_t rank, const Call& call);
  // Ends a custom action: the rank continues its trace.
  void resume(std::int32_t rank);
  std::int32_t execute(std::int32_t host, double flops) { return activities_.compute(host, flops); }
  std::int32_t access(std::int32_t disk, Access kind, double bytes) {
    return activities_.access(disk, kind, bytes);
  }
  // Accesses a file of a file system; returns -1 if the route to a server is missing.
  std::int32_t access_file(std::int32_t file_system, std::string_view name,
                           const FileRequest& request, std::int32_t client);
  // Returns -1 if the route is missing.
  std::int32_t transfer(std::int32_t source, std::int32_t destination, double bytes) {
    return activities_.transfer(source, destination, bytes);
  }

  // For reports.
  const Job& job(std::int32_t index) const { return jobs_[index]; }
  std::int32_t job_count() const { return jobs_.count(); }
  const std::vector<Rank>& ranks() const { return ranks_.all(); }
  const Communicator& communicator(std::int32_t index) const { return mpi_.communicators[index]; }
  std::int32_t communicator_count() const { return mpi_.communicators.count(); }
  std::int32_t communicator_of(const Rank& rank, std::uint16_t id) const {
    return mpi_.communicators.index_of(rank, id);
  }
  const TraceProgress& progress() const { return mpi_.source.progress(); }
  std::uint64_t trace_bytes() { return jobs_.trace_bytes(); }
  std::string file_of(const Rank& rank) const { return jobs_.file_of(rank); }
  const std::vector<FileStatistics>& file_statistics() const { return files_.statistics(); }
  const Files& files() const { return files_; }
  const Windows& windows() const { return mpi_.windows; }
  const FileSystems& file_systems() const { return file_systems_; }
  const Schedules& schedules() const { return mpi_.schedules; }
  const Message& message(std::int32_t index) const { return mpi_.matcher.message(index); }
  const Request& request(std::int32_t index) const { return mpi_.requests[index]; }
  // The next pending request of the same rank; -1 if none.
  std::int32_t request_after(std::int32_t index) const { return mpi_.requests.listing(index).next; }
  // Returns true if it is a pending message request of the rank, on its world.
  bool has_pending_request(const Rank& rank, std::int32_t request) const {
    return mpi_.requests.is_pending_message(rank, request);
  }
  const Network& network() const { return network_; }
  const PlatformData& platform() const { return *platform_; }
  const std::vector<Death>& deaths() const { return failures_.deaths(); }
  // The position of a message in its connections, if messages are ordered.
  TransferStatus transfer_status_of(std::int32_t message) const {
    const Handshake* const handshake = mpi_.messages.handshake();
    return handshake ? handshake->status_of(message) : TransferStatus{};
  }
  // Why a message will never arrive; null if it may.
  const Loss* loss_of(std::int32_t message) const { return transfers_.loss_of(message); }

  // Checks the invariants of every stateful class; throws BrokenInvariant. A core built with
  // TISIM_VERIFY does so after every instant.
  void verify() const;

#ifdef TISIM_VERIFY
  // Randomises, from a seed, the order in which ranks act and transfers are reported at one
  // instant, and the network is solved. MPI leaves that order open (ADR 12), so results may depend
  // on it only if ranks race: for messages from any source, in tests and in probes.
  void draw_order(std::uint32_t seed);
#endif

 private:
  friend struct SimulationTesting;  // gives tests access to private members

  bool act(std::int32_t owner, Stop* stop);
  Stop stop_without_events(double until);
  void note_wildcard_receives(std::span<const std::int32_t> peers);
  void make_ready(std::int32_t rank);

  Model model_;
  std::shared_ptr<const PlatformData> platform_;
  Clock clock_;
  Cpu cpu_;
  Disks disks_;
  Network network_;
  Ranks ranks_;
  Jobs jobs_;
  EventLog log_;
  Interruption interruption_;
  Transfers transfers_;
  Activities activities_;
  Runtime runtime_;
  Mpi mpi_;
  FileSystems file_systems_;
  Files files_;
  Failures failures_;
  PlatformChanges changes_;
  Instant instant_;
  ActionLog actions_;
  std::vector<Completion> completions_;
  RankLifetime lifetime_;
  Interpreter interpreter_;
  std::unique_ptr<Gpus> gpus_;            // null: no GPUs
  std::unique_ptr<SteadyStates> steady_;  // null: every iteration is simulated

  bool records_load_ = false;  // whether link loads are recorded
  // The rank that acts before all others if an operation is posted to it now.
  static constexpr std::int32_t kNoRank = -1, kAnyRank = -2;
  std::int32_t next_to_act_ = kNoRank;
};

}  // namespace tisim
