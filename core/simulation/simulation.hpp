// One simulation: ranks that execute operations on a platform. No global state.
//
// `run` goes from instant to instant (simulation/instant.hpp) and lets whoever was woken act
// (simulation/interpreter.hpp). It returns when somebody outside has to do something; see `Stop`.
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

  // A job of one rank for each of `hosts`. Its ranks start at the present instant, or where
  // `starts` is not empty so many seconds later.
  std::int32_t add_job(std::shared_ptr<const TraceSet> traces, std::span<const std::int32_t> hosts,
                       std::span<const double> starts = {});
  // The rank dies at a date, if it has not finished before.
  void kill_at(std::int32_t rank, double date) { changes_.kill_at(rank, date); }

  // Events at `until` itself happen (when `including`), but nothing that those woken then bring
  // about. `wall_clock_limit`: real seconds after which the run pauses.
  Stop run(double until = std::numeric_limits<double>::infinity(),
           double wall_clock_limit = std::numeric_limits<double>::infinity(),
           bool including = true);
  double now() const { return clock_.date(); }
  // The date of the next event, after sharing the network; infinite when nothing will happen.
  double next_event();

  // Log what happens from now on; `room`: entries before `run` returns with them.
  void open_event_log(std::size_t room) { log_.open(room, ranks_.size(), now()); }
  EventLog& event_log() { return log_; }
  void record_load(std::size_t bins) {
    network_.record_load(bins);
    records_load_ = true;
  }
  bool records_load() const { return records_load_; }
  const TimeBins& load() { return network_.load(); }

  // Leaves out iterations of programs in a steady state from now on (ADR 31). To be called before
  // jobs are added; nothing may be logged, change, fail, or be posted from outside.
  void skip_steady(double tolerance);
  SteadyReport steady_report() const { return steady_ ? steady_->report() : SteadyReport{}; }

  // Why the last run stopped, as long as nobody has answered.
  Stop stopped_by() const { return interruption_.reason(); }
  const std::pair<OpenCollective, OpenCollective>& mismatch() const {
    return mpi_.communicators.mismatch();
  }
  bool found_full_disk() const { return interruption_.reason() == Stop::disk_full; }
  bool mismatched() const { return interruption_.reason() == Stop::mismatch; }
  const Question& question() const { return interruption_.question(); }
  // In the making of a communicator: whether the rank will be in one; all new ones as ranks of
  // the old.
  bool question_is_of_member() const { return mpi_.creation.joins(ranks_[question().rank]); }
  std::vector<std::vector<std::int32_t>> new_groups() const {
    return mpi_.creation.groups(question());
  }
  // Communicators that nobody is in any more; their numbers may be used again.
  std::vector<std::int32_t> take_released() { return mpi_.communicators.take_released(); }
  std::pair<std::int32_t, std::int32_t> missing_route() const {
    return {network_.missing_source(), network_.missing_destination()};
  }
  std::vector<Completion> take_completions() { return std::exchange(completions_, {}); }

  // Answers. Rows of a schedule: see `Collectives::provide_schedule`.
  void provide_schedule(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                        std::span<const double> sizes, std::span<const std::int32_t> tags,
                        std::span<const std::int32_t> slots, bool last) {
    if (steady_) note_sources(peers);
    mpi_.collectives.provide_schedule(codes, peers, sizes, tags, slots, last);
  }
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    network_.add_route(source, destination, std::move(route));
  }
  // The route that a rank needed is there: it goes on.
  void retry();
  // The collective read or write that a schedule is asked for, in the stage `transfer`.
  const CollectiveTransfer& asked_transfer() const {
    return files_.asked_transfer(question().rank);
  }
  // The file whose disk a rank asks for, and the answer.
  std::string asked_file() const { return files_.asked_name(ranks_[question().rank]); }
  void provide_disk(std::int32_t disk);

  // Ranks are host threads of GPUs from now on, see `Gpus`. To be called before jobs are added;
  // nothing may fail or be skipped. False: a route is missing.
  bool add_gpus(GraphPrograms programs, std::vector<std::pair<std::int32_t, std::int32_t>> like,
                bool logs);
  const Gpus* gpus() const { return gpus_.get(); }
  // The rank that asks for a block launches it so many times.
  void launch(std::int32_t block, std::int32_t times);

  // Operations from outside. A driven rank reports by `CompletionType::rank` when one is done.
  void post(std::int32_t rank, const Op& op);
  void post_sendrecv(std::int32_t rank, const Op& op, const Op& half);
  // A waitall or waitany for these requests, by their indexes; each is pending.
  void post_of_some(std::int32_t rank, const Op& op, std::span<const std::int32_t> requests);
  void post_collective(std::int32_t rank, const Call& call);
  // A custom action is over: the rank goes on with its trace.
  void resume(std::int32_t rank);
  std::int32_t execute(std::int32_t host, double flops) { return activities_.compute(host, flops); }
  std::int32_t access(std::int32_t disk, Access kind, double bytes) {
    return activities_.access(disk, kind, bytes);
  }
  // Access to a file of a file system; -1: the route to a server is missing.
  std::int32_t access_file(std::int32_t file_system, std::string_view name,
                           const FileRequest& request, std::int32_t client);
  // -1: the route is missing.
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
  const std::vector<FileSums>& file_sums() const { return files_.sums(); }
  const Files& files() const { return files_; }
  const Windows& windows() const { return mpi_.windows; }
  const FileSystems& file_systems() const { return file_systems_; }
  const Schedules& schedules() const { return mpi_.schedules; }
  const Message& message(std::int32_t index) const { return mpi_.matcher.message(index); }
  const Request& request(std::int32_t index) const { return mpi_.requests[index]; }
  // The request of a rank that became pending after one that is; -1: none.
  std::int32_t request_after(std::int32_t index) const { return mpi_.requests.listing(index).next; }
  // True if a number is that of a request that is pending on a rank of a world.
  bool has_pending_request(const Rank& rank, std::int32_t request) const {
    return mpi_.requests.is_pending_message(rank, request);
  }
  const Network& network() const { return network_; }
  const PlatformData& platform() const { return *platform_; }
  const std::vector<Death>& deaths() const { return failures_.deaths(); }
  // Where a message is in its connections, if messages are in order.
  Standing standing(std::int32_t message) const {
    const Handshake* const handshake = mpi_.messages.handshake();
    return handshake ? handshake->standing(message) : Standing{};
  }
  // Why a message never arrives; null: it may.
  const Loss* loss_of(std::int32_t message) const { return transfers_.loss_of(message); }

  // Every class with state checks its invariants; throws BrokenInvariant. A core that is built with
  // TISIM_VERIFY does so after every instant.
  void verify() const;

#ifdef TISIM_VERIFY
  // From now on a seed draws the order in which ranks that go on at one instant act, transfers that
  // end together are told of, and the network is solved. MPI leaves that order open (ADR 12), so
  // results may depend on it only where ranks race: for messages from any source, in tests and in
  // probes.
  void draw_order(std::uint32_t seed);
#endif

 private:
  friend struct SimulationTesting;  // reaches inside

  bool act(std::int32_t owner, Stop* stop);
  Stop stop_without_events(double until);
  void note_sources(std::span<const std::int32_t> peers);
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
  std::unique_ptr<Gpus> gpus_;            // null: ranks launch nothing
  std::unique_ptr<SteadyStates> steady_;  // null: every iteration is simulated

  bool records_load_ = false;  // of links
  // The rank that acts before all others when an operation is posted to it now.
  static constexpr std::int32_t kNoRank = -1, kAnyRank = -2;
  std::int32_t next_to_act_ = kNoRank;
};

}  // namespace tisim
