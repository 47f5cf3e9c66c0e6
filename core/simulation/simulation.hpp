// One simulation: ranks that execute operations on a platform. No global state.
//
// `run` goes from instant to instant: first everything that ends at the instant, then the ranks
// that this wakes, in the order in which they were woken, each as far as it comes; then, once all
// is quiet, the network is shared anew and the clock moves on. It returns when somebody outside
// has to do something; see `Stop`.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulation/agenda.hpp"
#include "mpi/communicator.hpp"
#include "host/cpu.hpp"
#include "simulation/faults.hpp"
#include "mpi/matcher.hpp"
#include "platform/model.hpp"
#include "network/network.hpp"
#include "platform/profiles.hpp"
#include "simulation/rank.hpp"
#include "simulation/recorder.hpp"
#include "mpi/request_index.hpp"
#include "platform/routes.hpp"
#include "mpi/schedules.hpp"
#include "support/pool.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/reader.hpp"
#include "trace/archive/trace_set.hpp"

namespace tisim {

enum class Stop : std::uint8_t {
  done,           // every rank has finished, nothing is under way
  time,           // nothing more happens up to the given time
  pause,          // it has run for as long as allowed
  need_schedule,  // see `need()`, answer with `provide_schedule`
  need_route,     // see `missing_route()`, answer with `add_route`
  need_action,    // see `need()`: a custom action, answer with `resume` when it is over
  wake,           // see `take_woken()`
  records,        // the recorder is full: take what it has
  mismatch,       // ranks of a communicator call different collectives, see `mismatch()`
  deadlock        // ranks are left and nothing will ever happen by itself
};

// What a rank asks for.
struct Need {
  std::int32_t rank = -1;     // in the simulation
  std::int32_t comm = 0;      // index of the communicator
  std::int32_t number = 0;    // of the rank in it
  std::uint32_t call = 0;     // in the job's call table
  bool blocking = true;       // the collective
  Stage stage = Stage::none;  // of the making of a communicator
};

enum class WokenType : std::uint8_t { activity, rank, job, failure };  // failure: of an activity
struct Woken {
  WokenType type;
  std::int32_t index;
};

struct Job {
  std::shared_ptr<const TraceSet> traces;  // null: driven from outside
  CallTable calls;
  std::int32_t first = 0, size = 0;  // its ranks
  std::int32_t world = 0;            // index of its communicator
  std::int32_t running = 0;          // ranks that have not finished
  std::uint64_t bytes = 0;           // of its traces, when somebody has asked
};

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
  void kill_at(std::int32_t rank, double date);

  // What happens at `until` itself is done (when `including`), but nothing that those who are
  // woken then bring about. `patience`: real seconds after which the run pauses.
  Stop run(double until = std::numeric_limits<double>::infinity(),
           double patience = std::numeric_limits<double>::infinity(), bool including = true);
  double now() const { return now_; }

  // Record what happens from now on; `room`: records of each kind before `run` returns with them.
  void record(std::size_t room);
  Recorder* recorder() { return recorder_.get(); }
  void record_load(std::size_t bins) {
    network_.record_load(bins);
    records_load_ = true;
  }
  bool records_load() const { return records_load_; }
  const LinkLoad& load() { return network_.load(); }

  const std::pair<OpenCollective, OpenCollective>& mismatch() const { return mismatch_; }
  bool mismatched() const { return stop_ == Stop::mismatch; }
  // Why the last run stopped, as long as nobody has answered.
  Stop stopped_by() const { return stop_; }

  const Need& need() const { return need_; }
  // In the making of a communicator: whether the rank will be in one; all new ones as ranks of
  // the old.
  bool needs_member() const { return joins(ranks_[at(need_.rank)]); }
  std::vector<std::vector<std::int32_t>> needed_groups() const;
  // Communicators that nobody is in any more; their numbers may be used again.
  std::vector<std::int32_t> take_released() { return std::exchange(released_, {}); }
  // Rows of a schedule; peers are ranks of the communicator. `last`: calls that are the same from
  // now on need other schedules.
  void provide_schedule(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                        std::span<const double> sizes, std::span<const std::int32_t> tags,
                        std::span<const std::int32_t> slots, bool last);
  std::pair<std::int32_t, std::int32_t> missing_route() const {
    return {network_.missing_source(), network_.missing_destination()};
  }
  void add_route(std::int32_t source, std::int32_t destination, Route route) {
    network_.add_route(source, destination, std::move(route));
  }

  // Operations from outside. A driven rank reports by `WokenType::rank` when one is done.
  void post(std::int32_t rank, const Op& op);
  void post_sendrecv(std::int32_t rank, const Op& op, const Op& half);
  void post_collective(std::int32_t rank, const Call& call);
  // The date of the next event, after sharing the network; infinite when nothing will happen.
  double next_event();
  void resume(std::int32_t rank);
  // The route that a rank needed is there: it goes on.
  void retry();
  std::int32_t execute(std::int32_t host, double flops);
  // -1: the route is missing.
  std::int32_t transfer(std::int32_t source, std::int32_t destination, double bytes);
  std::vector<Woken> take_woken();

  const Job& job(std::int32_t index) const { return jobs_[static_cast<std::size_t>(index)]; }
  Job& job(std::int32_t index) { return jobs_[static_cast<std::size_t>(index)]; }
  std::int32_t job_count() const { return static_cast<std::int32_t>(jobs_.size()); }
  const std::vector<Rank>& ranks() const { return ranks_; }
  const Communicator& communicator(std::int32_t index) const {
    return communicators_[static_cast<std::size_t>(index)];
  }
  // As of the last time that each rank read on: exact enough to be shown, and no sum over ranks.
  const Headway& headway() const { return headway_; }
  // Bytes of all traces, asked for once.
  std::uint64_t trace_bytes();
  std::int32_t communicator_count() const {
    return static_cast<std::int32_t>(communicators_.size());
  }
  std::int32_t communicator_of(const Rank& rank, std::uint16_t id) const {
    return comm_index(rank, id);
  }
  const Schedules& schedules() const { return schedules_; }
  std::string file_of(const Rank& rank) const;
  const Message& message(std::int32_t index) { return matcher_.message(index); }
  const Network& network() const { return network_; }
  const PlatformData& platform() const { return platform_; }
  const Faults* faults() const { return faults_.get(); }
  const Request& request(std::int32_t index) const { return requests_[index]; }
  // Whether a number is that of a request that is pending on a rank of a world.
  bool has_pending_request(const Rank& rank, std::int32_t request) const;

 private:
  // The clock (run.cpp)
  void settle();
  void fall_asleep();
  double next_end();
  bool advance(double until, bool including, Stop* stop);
  void start_rank(std::int32_t rank, double delay);
  bool enter_init(Rank& rank, std::int32_t index);
  void start_flow(std::int32_t pair, double bytes, std::int32_t owner);
  void wake(std::int32_t owner) { ready_.push_back(owner); }
  void go_on(std::int32_t rank);
  // The rank that asked for something goes on before the others that were woken with it.
  void wake_first(std::int32_t rank) { ready_[--next_ready_] = rank; }
  void sleep(std::int32_t rank, double seconds, Phase phase);
  void compute(std::int32_t rank, double flops, Phase phase);

  // Changes and failures (faults.cpp)
  void prepare_changes();
  void expect_faults();
  double before_change(double date, double until) const;
  void apply_changes();
  void turn_link(std::int32_t link, bool on);
  void turn_host(std::int32_t host, bool on);
  void kill(std::int32_t rank, std::int32_t host);
  void lose(std::int32_t owner, const Loss& loss);
  void fail(std::int32_t activity);
  void note_hosts(std::int32_t owner, std::int32_t source, std::int32_t destination);
  WokenType outcome(std::int32_t activity);
  std::optional<Loss> obstacle(std::int32_t pair, std::int32_t owner) const;
  bool is_obstructed(std::int32_t pair, std::int32_t owner);
  bool be_born(Rank& rank, std::int32_t index);
  bool bury(Rank& rank, std::int32_t index);

  // The interpreter (interpreter.cpp). The functions that execute an operation say whether it is
  // done; otherwise the rank's phase says what comes next.
  bool run_rank(std::int32_t rank);
  bool fetch(Rank& rank, std::int32_t index);
  void record_action(std::int32_t rank, const Op& op, std::uint8_t level);
  bool finds_nothing(Rank& rank);
  void refill(Rank& rank, std::int32_t index);
  std::size_t read_on(Rank& rank);
  void insert(Rank& rank, std::span<const Op> ops);
  Op take_half(Rank& rank);
  bool begin(Rank& rank, std::int32_t index);
  bool begin_rarely(Rank& rank, std::int32_t index);
  bool continue_operation(Rank& rank, std::int32_t index);
  bool continue_rarely(Rank& rank, std::int32_t index);
  bool finish_rank(Rank& rank, std::int32_t index);
  void synchronise_end(Rank& rank);
  [[noreturn]] void fail(const Rank& rank, const std::string& message) const;

  // Messages (messages.cpp)
  bool send(Rank& rank, std::int32_t index);
  bool post_send(Rank& rank, std::int32_t index);
  bool receive(Rank& rank, std::int32_t index);
  bool sendrecv(Rank& rank, std::int32_t index);
  bool wait_for(Rank& rank, std::int32_t index, std::int32_t message, Side side);
  bool finish_receive(Rank& rank, std::int32_t index, std::int32_t message);
  void complete(std::int32_t message);
  void notify(std::int32_t message, Side side);
  void let_go(std::int32_t message);
  bool receive_half(Rank& rank, std::int32_t index);
  bool is_detached(const Op& op) const;
  const Overheads& overheads_of(const Rank& rank) const;
  double receive_overhead(const Rank& rank, const Message& message) const;
  std::int32_t global(const Rank& rank, std::int32_t peer) const;
  std::int32_t context_of(const Rank& rank) const;

  // Requests (requests.cpp)
  std::int32_t add_request(Rank& rank, Side side, std::int32_t message);
  void list_request(Rank& rank, std::int32_t request);
  std::int32_t find_request(Rank& rank);
  void index_requests(Rank& rank);
  void forget_index(Rank& rank);
  std::int32_t find_collective(const Rank& rank) const;
  std::int32_t named_request(Rank& rank);
  bool wait_request(Rank& rank, std::int32_t index, std::int32_t request);
  bool finish_request(Rank& rank, std::int32_t index, std::int32_t request);
  void drop_request(Rank& rank, std::int32_t request);
  void await(Rank& rank, std::int32_t request);
  void add_ready(Rank& rank, std::int32_t request);
  bool wait_all(Rank& rank, std::int32_t index);
  bool await_pending(Rank& rank, std::int32_t index);
  void wait_for_collectives(Rank& rank);

  // Waiting for and testing several requests (selection.cpp)
  bool wait_any(Rank& rank, std::int32_t index);
  bool finish_any(Rank& rank, std::int32_t index);
  void stop_awaiting(Rank& rank, std::int32_t request);
  void test_each(Rank& rank);
  bool begin_test(Rank& rank, std::int32_t index);
  bool asks_for_message(Rank& rank);
  bool finish_test(Rank& rank, std::int32_t index);
  void test_collective(Rank& rank, std::int32_t request);
  bool finish_verdict(Rank& rank);
  bool test_any(Rank& rank, std::int32_t index);
  bool finish_test_any(Rank& rank, std::int32_t index);
  std::int32_t first_with_message(const Rank& rank, bool complete) const;

  // Probes (probes.cpp)
  bool begin_probe(Rank& rank, std::int32_t index);
  bool look(Rank& rank, std::int32_t index);
  std::int32_t see(const Rank& rank, std::int32_t index);
  bool finish_probe(Rank& rank, std::int32_t index);
  void look_again(std::int32_t destination);
  bool nothing_will_come();
  bool waits_for_others(std::int32_t index);

  // Persistent requests (persistent.cpp)
  void make_persistent(Rank& rank);
  bool start_persistent(Rank& rank, std::int32_t index);
  void start_all(Rank& rank);

  // Collectives (collectives.cpp)
  bool enter_collective(Rank& rank, std::int32_t index);
  bool find_schedule(Rank& rank, std::int32_t index);
  bool ask_schedule(Rank& rank, std::int32_t index, std::int32_t comm, std::int32_t number);
  bool end_schedule(Rank& rank, std::int32_t index);
  void start_schedule(Rank& rank, std::int32_t schedule);
  void list_collective(Rank& rank);
  bool count_collective(const Rank& rank, std::int32_t comm, std::int32_t number,
                        Operation operation, bool blocking);
  bool meet(Rank& rank, std::int32_t index);

  // Communicators (communicators.cpp)
  const Membership& membership(const Rank& rank, std::uint16_t id) const;
  std::int32_t comm_index(const Rank& rank, std::uint16_t id) const;
  std::int32_t number_in(const Rank& rank, std::uint16_t comm) const;
  bool form_communicator(Rank& rank, std::int32_t index);
  void check_formation(const Rank& rank, const Formation& formation, std::uint16_t id,
                       bool joins) const;
  std::uint64_t formation_of(const Communicator& parent, std::int32_t number) const;
  const Formation::Member& member_of(const Rank& rank) const;
  bool joins(const Rank& rank) const { return member_of(rank).color >= 0; }
  bool next_stage(Rank& rank, std::int32_t index);
  bool join_communicator(Rank& rank, std::int32_t index);
  void make_communicators(const Communicator& parent, Formation& formation);
  void free_communicator(Rank& rank);
  std::int32_t new_communicator();
  const Call& call_of(const Rank& rank) const;

  std::size_t at(std::int32_t i) const { return static_cast<std::size_t>(i); }

  Model model_;
  std::shared_ptr<const PlatformData> shared_platform_;
  const PlatformData& platform_;
  Agenda agenda_;
  Cpu cpu_;
  Network network_;
  Matcher matcher_;
  Pool<Request> requests_;
  RequestIndex request_index_;
  std::vector<Rank> ranks_;
  std::deque<Job> jobs_;  // readers refer to the call tables
  std::deque<Communicator> communicators_;
  std::vector<std::int32_t> free_;      // of the communicators
  std::vector<std::int32_t> released_;  // those that nobody was told of
  std::int32_t contexts_ = 0;
  Schedules schedules_;
  Pool<StartedCollective> started_;
  std::pair<OpenCollective, OpenCollective> mismatch_;

  double now_ = 0.0;
  Headway headway_;
  Stack<std::int32_t> ready_;  // woken at this instant: ranks, ~ activities
  std::size_t next_ready_ = 0;
  static constexpr std::int32_t kNobodyGoesOn = -1, kWhoever = -2;
  std::int32_t going_on_ = kNobodyGoesOn;  // who acts next if somebody outside says so now
  Stop stop_ = Stop::done;                 // why the rank that runs cannot go on
  Need need_;
  std::vector<Woken> woken_;
  Stack<std::int32_t> owners_;                           // scratch
  std::vector<std::pair<double, std::int32_t>> sleeps_;  // that began at this instant: end, rank
  std::unique_ptr<Recorder> recorder_;
  bool records_load_ = false;  // of links
  std::unique_ptr<Changes> changes_;  // null: nothing ever changes
  double next_change_ = std::numeric_limits<double>::infinity();
  std::unique_ptr<Faults> faults_;  // null: nothing ever fails
  Pool<std::int32_t> activities_;
  std::int64_t test_sleeps_ = 1;  // how many times smpi/test the next test takes; for all ranks
  std::int64_t test_any_sleeps_ = 1;
  std::int64_t probe_sleeps_ = 1;
  std::int64_t failed_probes_ = 0;  // since one found a message
  std::int32_t looking_ = 0;        // ranks that wait for any message to come
};

}  // namespace tisim
