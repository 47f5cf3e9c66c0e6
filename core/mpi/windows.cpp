#include "mpi/windows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

namespace {

// Flags of operations inserted into a call.
constexpr std::uint8_t kRest = 128;  // the remaining steps of the call

// Tags of SimGrid's messages (SMPI_RMA_TAG).
constexpr std::int32_t kAccessTag = -6666;
constexpr std::int32_t kPostTag = -6662;
constexpr std::int32_t kCompleteTag = -6661;
// Tag of the messages that implement locks.
constexpr std::int32_t kLockTag = -6660;

// Number of SimGrid kernel calls that post a send or a receive: lock and unlock of a mutex, a
// lookup, the post; or only the post, if messages are never sent before their receive is posted.
constexpr std::int32_t kYieldsOfPost = 4;
constexpr std::int32_t kYieldsOfPlainPost = 1;

}  // namespace

// With smpi/rma:openmpi, the headers before stored data are those of the fragment, of the access,
// and of its unlock (Open MPI 4.1, osc_pt2pt_header.h). MPICH's were measured on the wire (4.0,
// ch4:ucx).
Windows::LockMessages Windows::lock_messages(const std::string& rma) {
  if (rma == "openmpi") return {.bytes = 16, .headers = 16 + 32 + 24};
  if (rma == "mpich") return {.bytes = 32, .headers = 88, .answers_accesses = true};
  return {};
}

Windows::Windows(const Runtime& runtime, CommunicatorTable& communicators, RequestTable& requests,
                 PointToPoint& messages, Waits& waits, OperationSource& source)
    : runtime_(runtime),
      communicators_(communicators),
      requests_(requests),
      messages_(messages),
      waits_(waits),
      source_(source),
      rdma_(runtime.model.rma == "rdma"),
      lock_messages_(lock_messages(runtime.model.rma)),
      locks_by_message_(lock_messages_.bytes > 0) {}

bool Windows::begin(Rank& rank, std::int32_t index) {
  const Op op = rank.op;
  if ((op.flags & kRest) != 0) {
    calls_[index].has_inserted = false;
    return resume(rank, index);
  }
  View& view = views_[index][window_of(op)];
  const Operation operation = window_call_of(op);
  Progress& call = calls_[index];
  call = Progress{};
  call.window = view.window;
  call.me = view.me;
  call.tag = op.tag;
  call.bytes = op.bytes;
  if ((op.flags & kContinuation) != 0) {  // between the barriers of a fence or win_free
    if (!rdma_) plan_collect(view.me, -1, call);
    if (rdma_ && operation == Operation::win_fence) source_.next(rank);  // one barrier suffices
    if (operation == Operation::win_free) call.steps.push_back({Step::free});
    return resume(rank, index);
  }
  if (locks_by_message_) waits_.make_progress(index);
  const bool has_group = window_traits_of(operation).form == WindowForm::group;
  std::vector<std::int32_t> group;
  if (has_group) {
    for (const double member : runtime_.jobs.call_of(rank).arguments) {
      group.push_back(static_cast<std::int32_t>(member));
    }
  }
  const std::int32_t size = communicators_[communicators_.index_of(rank, op.comm)].size;
  const std::string error = view.epochs.error_of(op, group, size);
  if (!error.empty()) runtime_.jobs.fail(rank, error);
  if (!view.epochs.exists) {
    make(rank, view);
  } else {
    plan(op, view.epochs, group, size, call);
  }
  view.epochs.take(op, std::move(group));
  return resume(rank, index);
}

// The n-th windows that the ranks make on a communicator form one window.
void Windows::make(Rank& rank, View& view) {
  const std::int32_t index = rank.first + rank.number;
  const Communicator& communicator = communicators_[communicators_.index_of(rank, rank.op.comm)];
  const std::int32_t place = counts_[{index, communicator.context}]++;
  const auto [found, is_new] = made_.try_emplace({communicator.context, place});
  auto& [window, missing] = found->second;
  if (is_new) {
    if (free_.empty()) {
      window = static_cast<std::int32_t>(windows_.size());
      windows_.emplace_back();
    } else {
      window = free_.back();
      free_.pop_back();
    }
    missing = communicator.size;
    Window& made = windows_[static_cast<std::size_t>(window)];
    made.left = communicator.size;
    made.context = communicator.context;
    for (std::int32_t i = 0; i < communicator.size; ++i) {
      made.ranks.push_back(communicator.member(i));
    }
  }
  view.window = window;
  view.me = communicators_.number_in(rank, rank.op.comm);
  if (--missing == 0) made_.erase(found);
}

// Plans the steps of a call, in the order of SimGrid's smpi_win.cpp.
void Windows::plan(const Op& op, const Epochs& epochs, const std::vector<std::int32_t>& group,
                   std::int32_t size, Progress& call) const {
  const std::int32_t me = call.me;
  std::vector<PlannedStep>& steps = call.steps;
  const Operation operation = window_call_of(op);
  const auto synchronise = [&](const std::vector<std::int32_t>& others, Step step) {
    std::int32_t messages = 0;
    for (const std::int32_t other : others) {
      if (other == me) continue;
      steps.push_back({step, other});
      ++messages;
    }
    steps.push_back({Step::wait_sync, messages});
  };
  switch (operation) {
    case Operation::win_fence:
    case Operation::win_free:
      if (rdma_) plan_collect(me, -1, call);
      return;
    case Operation::win_post:
      return synchronise(group, Step::send_sync);
    case Operation::win_start:
      return synchronise(group, Step::receive_sync);
    case Operation::win_complete:
      if (rdma_) plan_collect(me, -1, call);
      synchronise(epochs.targets, Step::send_sync);
      if (!rdma_) plan_collect(me, -1, call);
      return;
    case Operation::win_wait:
      synchronise(epochs.origins, Step::receive_sync);
      if (!rdma_) plan_collect(me, -1, call);
      return;
    case Operation::win_lock:
      if (locks_by_message_ && op.peer != me) plan_lock_message(me, op.peer, call);
      steps.push_back({Step::lock, op.peer, op.bytes != 0 ? 1 : 0});
      if (!locks_by_message_) return plan_flush(op.peer, call);
      if (op.peer != me) plan_lock_message(op.peer, me, call);
      return;
    case Operation::win_lock_all:
      for (std::int32_t target = 0; target < size; ++target) {
        steps.push_back({Step::lock, target, 0});
        plan_flush(target, call);
      }
      return;
    case Operation::win_unlock:
      if (locks_by_message_) return plan_completion(op.peer, true, call);
      if (rdma_) plan_flush(op.peer, call);
      steps.push_back({Step::unlock, op.peer});
      if (!rdma_) plan_flush(op.peer, call);
      return;
    case Operation::win_unlock_all:
      for (std::int32_t target = 0; target < size; ++target) {
        if (rdma_) plan_flush(target, call);
        steps.push_back({Step::unlock, target});
        if (!rdma_) plan_flush(target, call);
      }
      return;
    case Operation::win_flush:
      return locks_by_message_ ? plan_completion(op.peer, false, call) : plan_flush(op.peer, call);
    case Operation::win_flush_local:
      return plan_collect(me, op.peer, call);
    case Operation::win_flush_all:
      plan_collect(me, -1, call);
      for (std::int32_t other = 0; !rdma_ && other < size; ++other) {
        if (other != me) plan_collect(other, me, call);
      }
      return;
    case Operation::win_flush_local_all:
      return plan_collect(me, -1, call);
    default:
      return plan_access(window_traits_of(operation), op, call);
  }
}

void Windows::plan_access(const WindowTraits& traits, const Op& op, Progress& call) const {
  const std::int32_t me = call.me;
  const std::int32_t target = op.peer;
  std::vector<PlannedStep>& steps = call.steps;
  // A rank's access to its own memory is not a message, except for accumulates.
  const bool is_local = target == kProcNull || target == me;
  const bool fetches = traits.fetches && !is_local;
  const bool is_message = !is_local || (traits.combines && !locks_by_message_);
  const bool stores = traits.stores && target != kProcNull && is_message;
  const bool is_request = traits.makes_request;
  const auto in_list = [&](std::int32_t owner, bool lists) {
    if (!locks_by_message_) steps.push_back({Step::enter, owner});
    if (lists && owner == target) steps.push_back({Step::receive});
    if (lists) steps.push_back({Step::list, owner, owner == target && traits.combines ? 1 : 0});
    if (!locks_by_message_) steps.push_back({Step::leave, owner});
  };
  if (rdma_) {
    if (!is_local) {
      steps.push_back(fetches ? PlannedStep{Step::send, target, me}
                              : PlannedStep{Step::send, me, target});
      steps.push_back({is_request ? Step::request : Step::list, me});
    } else if (is_request) {
      steps.push_back({Step::request_done});
    }
    return;
  }
  const bool is_atomic = traits.fetches && traits.stores && target != kProcNull;
  if (is_atomic) steps.push_back({Step::enter_atomic, target});
  if (fetches) {
    steps.push_back({Step::send, target, me});
    in_list(target, false);
    steps.push_back({Step::receive});
    if (is_atomic) {
      steps.push_back({Step::await});
    } else if (is_request) {
      steps.push_back({Step::request});
    } else {
      in_list(me, true);
    }
  }
  if (stores) {
    steps.push_back({Step::send, me, target});
    const bool has_own = !is_request && !(is_atomic && traits.combines);
    if (has_own && !traits.combines) in_list(me, false);
    in_list(target, true);
    if (has_own && traits.combines) in_list(me, false);
    if (traits.combines && !locks_by_message_) plan_flush(target, call);
  }
  if (is_atomic) steps.push_back({Step::leave_atomic, target});
  // A send need not be waited for.
  if (is_request && (stores || !fetches)) steps.push_back({Step::request_done});
}

void Windows::plan_flush(std::int32_t target, Progress& call) const {
  plan_collect(call.me, target, call);
  if (!rdma_ && target != call.me) plan_collect(target, call.me, call);
}

void Windows::plan_collect(std::int32_t owner, std::int32_t other, Progress& call) const {
  const bool holds = !rdma_ && !locks_by_message_;
  if (holds) call.steps.push_back({Step::enter, owner});
  call.steps.push_back({Step::collect, owner, other});
  if (holds) call.steps.push_back({Step::leave, owner});
}

void Windows::plan_lock_message(std::int32_t source, std::int32_t destination, Progress& call) {
  call.steps.push_back({Step::lock_message, source, destination});
  call.steps.push_back({Step::await});
}

// Open MPI announces the end of the accesses in the fragment of the last one, or by a message if
// there was none. MPICH waits for the replies to the accesses, then unlocks by a message.
void Windows::plan_completion(std::int32_t target, bool unlocks, Progress& call) const {
  const std::int32_t me = call.me;
  if (target != me) {
    const Window& window = windows_[static_cast<std::size_t>(call.window)];
    const auto member = window.members.find(target);
    const bool has_accesses = member != window.members.end() &&
                              std::ranges::any_of(member->second.list, [&](const Listed& access) {
                                return access.source == me;
                              });
    const bool unlocks_apart = lock_messages_.answers_accesses && unlocks && has_accesses;
    if (unlocks_apart) {
      plan_flush(target, call);
      plan_lock_message(target, me, call);
    }
    if (!has_accesses || unlocks_apart) plan_lock_message(me, target, call);
  }
  plan_flush(target, call);
  if (unlocks) call.steps.push_back({Step::unlock, target});
  if (target != me) plan_lock_message(target, me, call);
}

bool Windows::resume(Rank& rank, std::int32_t index) {
  Progress& call = calls_[index];
  while (call.next < call.steps.size() || call.yields > 0 || call.due > 0) {
    if (call.yields > 0) {
      --call.yields;
      return yield(rank, index);
    }
    if (call.due > 0) {
      runtime_.sleep(rank, index, std::exchange(call.due, 0.0), Phase::in_window);
      return false;
    }
    const PlannedStep step = call.steps[call.next];
    const bool sends = step.step == Step::send || step.step == Step::lock_message;
    if (sends && !send(rank, index, call, step)) return false;
    ++call.next;
    if (!take(rank, index, call, step)) return false;
    if (call.has_inserted) return true;
  }
  return true;
}

// Executes a step. Returns false if the rank waits.
bool Windows::take(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step) {
  Window& window = windows_[static_cast<std::size_t>(call.window)];
  Member& member = window.members[step.a];
  switch (step.step) {
    case Step::send:
    case Step::lock_message:
    case Step::receive:
      call.yields = rdma_ || locks_by_message_ ? 0 : kYieldsOfPost;
      return true;
    case Step::enter:
    case Step::enter_atomic:
      if (!enter(index, step.step == Step::enter ? member.holding : member.atomic)) {
        rank.phase = Phase::in_window;
        return false;
      }
      call.yields = 1;
      return true;
    case Step::leave:
    case Step::leave_atomic:
      leave(step.step == Step::leave ? member.holding : member.atomic);
      call.yields = 1;
      return true;
    case Step::list:
      member.list.push_back(
          {requests_.add_of_window(call.message), call.source, call.destination, step.b != 0});
      return true;
    case Step::request:
      requests_.add_unnamed(rank, kReceiver, call.message);
      return true;
    case Step::request_done:
      requests_.add_unnamed(rank, kSender, -1);
      return true;
    case Step::await: {
      const std::int32_t request = requests_.add_of_window(call.message);
      call.yields = requests_[request].complete ? 1 : 0;
      requests_.await_of_window(rank, index, request);
      return wait_for_awaited(rank, index, call);
    }
    case Step::collect:
      return collect(rank, index, call, step, member);
    case Step::lock:
      if (!take_lock(rank, index, member.lock, step.b != 0)) return false;
      call.yields = step.b;
      return true;
    case Step::unlock:
      call.yields = release_lock(index, member.lock) ? 1 : 0;
      return true;
    case Step::send_sync:
    case Step::receive_sync:
      return synchronise(rank, index, call, step);
    case Step::wait_sync:
      return wait_for_synchronised(rank, index, call, step.a);
    case Step::free:
      if (--window.left > 0) return true;
      window = Window{};
      free_.push_back(call.window);
      return true;
  }
  return true;
}

// Sends the message of an access at once. Returns false if the rank first pays for it, or a route
// is missing.
bool Windows::send(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step) {
  const bool is_lock_message = step.step == Step::lock_message;
  const bool is_read = locks_by_message_ && step.b != call.me;
  const std::int64_t bytes =
      is_lock_message ? lock_messages_.bytes : call.bytes + (is_read ? lock_messages_.headers : 0);
  const double seconds = rdma_ || call.paid ? 0 : messages_.access_overhead(rank, bytes);
  call.paid = true;
  if (seconds > 0) {
    runtime_.sleep(rank, index, seconds, Phase::in_window);
    return false;
  }
  const Window& window = windows_[static_cast<std::size_t>(call.window)];
  call.source = step.a;
  call.destination = step.b;
  const auto rank_of = [&](std::int32_t member) {
    return window.ranks[static_cast<std::size_t>(member)];
  };
  call.message =
      messages_.access(index, rank_of(step.a), rank_of(step.b), bytes,
                       is_lock_message ? kLockTag : kAccessTag, window.context, !rdma_, is_read);
  if (call.message < 0) {
    rank.phase = Phase::in_window;
    return false;
  }
  call.paid = false;
  return true;
}

// The call continues after the awaited requests.
bool Windows::wait_for_awaited(Rank& rank, std::int32_t index, Progress& call) {
  insert_rest(rank, call);
  return waits_.wait_awaited(rank, index);
}

void Windows::insert_rest(Rank& rank, Progress& call) {
  Op rest = rank.op;
  rest.kind = Kind::window;
  rest.tag = call.tag;
  rest.flags = kContinuation | kRest;
  rank.insert({&rest, 1});
  call.has_inserted = true;
}

bool Windows::collect(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step,
                      Member& member) {
  std::vector<Listed> left;
  const std::vector<Listed> all = std::exchange(member.list, {});
  bool all_complete = true;
  for (const Listed& access : all) {
    if (step.b < 0 || access.source == step.b || access.destination == step.b) {
      // Data are combined sequentially, once all of them have arrived.
      if (access.combines)
        call.due += messages_.take_overhead(rank, requests_[access.request].message);
      all_complete = all_complete && requests_[access.request].complete;
      requests_.await_of_window(rank, index, access.request);
    } else {
      left.push_back(access);
    }
  }
  member.list = std::move(left);
  if (all_complete) call.yields = rank.awaited;
  return rank.awaited == 0 || wait_for_awaited(rank, index, call);
}

// An empty message, sent and received like a persistent request.
bool Windows::synchronise(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step) {
  insert_rest(rank, call);
  call.yields = runtime_.model.eager_threshold > 0 ? kYieldsOfPost : kYieldsOfPlainPost;
  const Operation operation = static_cast<Operation>(call.tag & 255);
  const bool is_post = operation == Operation::win_post || operation == Operation::win_start;
  const bool sends = step.step == Step::send_sync;
  rank.op.kind = sends ? Kind::send_init : Kind::recv_init;
  rank.op.peer = step.a;
  rank.op.tag = is_post ? kPostTag : kCompleteTag;
  rank.op.bytes = 0;
  return sends ? messages_.send(rank, index) : messages_.receive(rank, index);
}

bool Windows::wait_for_synchronised(Rank& rank, std::int32_t index, Progress& call,
                                    std::int32_t messages) {
  std::vector<std::int32_t> last;
  for (std::int32_t at = rank.pending.last; messages > 0; --messages) {
    last.push_back(at);
    at = requests_.listing(at).previous;
  }
  bool all_complete = true;
  for (const std::int32_t request : last) {
    all_complete = all_complete && requests_[request].complete;
    requests_.await(rank, request);
  }
  if (all_complete) call.yields = rank.awaited;
  return rank.awaited == 0 || wait_for_awaited(rank, index, call);
}

bool Windows::enter(std::int32_t index, Mutex& mutex) {
  if (mutex.holder < 0) {
    mutex.holder = index;
    return true;
  }
  mutex.waiting.push_back(index);
  return false;
}

// Lets the ranks that are ready run first.
bool Windows::yield(Rank& rank, std::int32_t index) const {
  rank.phase = Phase::in_window;
  runtime_.clock.wake(index);
  return false;
}

void Windows::leave(Mutex& mutex) const {
  mutex.holder = -1;
  if (mutex.waiting.empty()) return;
  mutex.holder = mutex.waiting.front();
  mutex.waiting.pop_front();
  runtime_.clock.wake(mutex.holder);
}

// FIFO; consecutive shared locks are held together.
bool Windows::take_lock(Rank& rank, std::int32_t index, Lock& lock, bool exclusive) {
  const bool is_free = lock.holders.empty() || (!exclusive && !lock.exclusive);
  if (is_free && lock.waiting.empty()) {
    lock.holders.push_back(index);
    lock.exclusive = exclusive;
    return true;
  }
  lock.waiting.emplace_back(index, exclusive);
  rank.phase = Phase::in_window;
  return false;
}

// Returns true if the lock was exclusive.
bool Windows::release_lock(std::int32_t index, Lock& lock) const {
  std::erase(lock.holders, index);
  const bool was_exclusive = lock.exclusive;
  while (!lock.waiting.empty()) {
    const auto [next, exclusive] = lock.waiting.front();
    if (!lock.holders.empty() && (exclusive || lock.exclusive)) break;
    lock.waiting.pop_front();
    lock.holders.push_back(next);
    lock.exclusive = exclusive;
    runtime_.clock.wake(next);
  }
  return was_exclusive;
}

std::string Windows::wait_of(const Rank& rank, std::int32_t index) const {
  const auto found = calls_.find(index);
  if (found == calls_.end() || found->second.next == 0) return {};
  const Progress& call = found->second;
  const PlannedStep& step = call.steps[call.next - 1];
  const Window& window = windows_[static_cast<std::size_t>(call.window)];
  const auto named = [](std::int32_t number) { return "rank " + std::to_string(number); };
  if (step.step == Step::lock) {
    const std::int32_t holder = window.members.at(step.a).lock.holders.front();
    return "the lock of " + named(step.a) + " of the window, which " + named(holder - rank.first) +
           " holds";
  }
  if (step.step == Step::wait_sync) {
    for (std::int32_t at = rank.pending.first; at >= 0; at = requests_.listing(at).next) {
      const Request& request = requests_[at];
      if (!request.awaited || request.complete) continue;
      const RequestKey& key = requests_.listing(at).key;
      if (request.side == kSender) return named(key.destination) + " of the window";
      return "the " + std::string(key.tag == kPostTag ? "win_post" : "win_complete") + " of " +
             named(key.source) + " of the window";
    }
  }
  return "data of the window";
}

void Windows::verify() const {
  for (const Window& window : windows_) {
    for (const auto& [number, member] : window.members) {
      ensure(member.holding.holder >= 0 || member.holding.waiting.empty(),
             "a list with waiting ranks has a holder");
      ensure(!member.lock.holders.empty() || member.lock.waiting.empty(),
             "a lock with waiting ranks has a holder");
    }
  }
}

}  // namespace tisim
