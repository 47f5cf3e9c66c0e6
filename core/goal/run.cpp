#include "goal/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tisim {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kInstant = 1e-12;  // seconds

}  // namespace

GoalRun::GoalRun(std::shared_ptr<const GoalSchedule> schedule, Simulation* network,
                 std::vector<std::int32_t> hosts, std::vector<double> seconds, const Model* model)
    : schedule_(std::move(schedule)),
      network_(network),
      hosts_(std::move(hosts)),
      seconds_(std::move(seconds)),
      overheads_(model != nullptr ? model->overheads : std::vector<Overheads>(1)),
      threshold_(model != nullptr ? model->detached_threshold
                                  : std::numeric_limits<std::int64_t>::max()),
      ranks_(schedule_->ranks.size()) {
  if (hosts_.size() != ranks_.size() || seconds_.size() != ranks_.size())
    throw std::invalid_argument("each rank of a schedule has a host and a speed");
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const GoalRank& given = schedule_->ranks[i];
    Rank& rank = ranks_[i];
    operations_ += static_cast<std::int64_t>(given.ops.size());
    rank.ready.resize(given.ops.size());
    rank.states.resize(given.ops.size());
    for (std::uint32_t op = 0; op < given.ops.size(); ++op) {
      rank.needs.push_back(given.ops[op].needs);
      if (given.ops[op].needs == 0) rank.freed.push_back(op);
    }
    touched_.push_back(static_cast<std::int32_t>(i));
  }
  start_freed();
}

const Overheads& GoalRun::overheads_of(std::int32_t rank) const {
  const std::size_t host = static_cast<std::size_t>(hosts_[static_cast<std::size_t>(rank)]);
  if (network_ == nullptr || network_->platform().host_overheads.empty()) return overheads_.front();
  return overheads_[static_cast<std::size_t>(network_->platform().host_overheads[host])];
}

Stop GoalRun::run(std::int64_t events) {
  for (; events > 0; --events) {
    if (queue_.empty() && under_way_.empty())
      return done_ == operations_ ? Stop::done : Stop::deadlock;
    if (network_ != nullptr) {
      const Stop stop = advance_network();
      if (stop == Stop::completion) continue;
      if (stop != Stop::time) return stop;
    }
    const Event event = queue_.top();
    queue_.pop();
    now_ = std::max(now_, event.date);
    if (!act(event)) {
      queue_.push(event);
      return Stop::need_route;
    }
    start_freed();
  }
  return Stop::pause;
}

// Advances the network to the next event, and then past all arrivals at that same instant.
Stop GoalRun::advance_network() {
  const double date = queue_.empty() ? kForever : queue_.top().date;
  Stop stop = network_->run(date);
  while (stop == Stop::time && !under_way_.empty()) {
    const double next = network_->next_event();
    if (next > date + kInstant / 2) break;
    stop = network_->run(next > network_->now() ? next : next + kInstant / 2);
  }
  if (stop != Stop::completion) return stop;
  for (const Completion& completion : network_->take_completions()) {
    const auto travelling = under_way_.find(completion.index);
    const Message& message = messages_[travelling->second];
    // A message whose route failed is lost.
    if (completion.type == CompletionType::activity)
      push(network_->now(), message.number, EventKind::arrival, message.to, travelling->second);
    under_way_.erase(travelling);
  }
  return stop;
}

void GoalRun::push(double date, std::uint64_t number, EventKind kind, std::int32_t rank,
                   std::uint32_t index) {
  queue_.push({date, std::round(date / kInstant), number, kind, rank, index});
}

void GoalRun::begin(std::int32_t rank, std::uint32_t op, double date) {
  rank_of(rank).states[op] = State::begun;
  allow(rank, schedule_->ranks[static_cast<std::size_t>(rank)].after_start(op), date);
}

void GoalRun::end(std::int32_t rank, std::uint32_t op, double date) {
  rank_of(rank).states[op] = State::ended;
  rank_of(rank).last = std::max(rank_of(rank).last, date);
  ++done_;
  allow(rank, schedule_->ranks[static_cast<std::size_t>(rank)].after_end(op), date);
}

void GoalRun::allow(std::int32_t rank, std::span<const std::uint32_t> ops, double date) {
  Rank& waiting = rank_of(rank);
  for (const std::uint32_t op : ops) {
    waiting.ready[op] = std::max(waiting.ready[op], date);
    if (--waiting.needs[op] != 0) continue;
    if (waiting.freed.empty()) touched_.push_back(rank);
    waiting.freed.push_back(op);
  }
}

// Starts sends before receives before computations, as in LogGOPSim.
void GoalRun::start_freed() {
  std::sort(touched_.begin(), touched_.end());
  for (const std::int32_t index : touched_) {
    Rank& rank = rank_of(index);
    std::vector<std::uint32_t> freed = std::exchange(rank.freed, {});
    std::stable_sort(freed.begin(), freed.end(), [&](std::uint32_t a, std::uint32_t b) {
      return op_of(index, a).kind < op_of(index, b).kind;
    });
    for (const std::uint32_t op : freed) {
      const double free = processor(index, op_of(index, op).cpu).free;
      push(std::max({rank.ready[op], free, now_}), numbers_++, EventKind::op, index, op);
    }
  }
  touched_.clear();
}

// Returns false if the processor is busy; the event then waits for it.
bool GoalRun::take_processor(const Event& event, std::uint32_t cpu) {
  Processor& taken = processor(event.rank, cpu);
  if (taken.free <= event.date + kInstant / 2) return true;
  const bool is_first = taken.waiting.empty() || event.number < taken.waiting.top().number;
  taken.waiting.push(event);
  if (is_first) push(taken.free, event.number, EventKind::processor, event.rank, cpu);
  return false;
}

// Runs the oldest event waiting for a processor, if the processor is free.
void GoalRun::wake_processor(const Event& event) {
  Processor& woken = processor(event.rank, event.index);
  if (woken.waiting.empty() || woken.waiting.top().number != event.number) return;
  if (woken.free > event.date + kInstant / 2) {
    push(woken.free, event.number, EventKind::processor, event.rank, event.index);
    return;
  }
  Event next = woken.waiting.top();
  woken.waiting.pop();
  next.date = event.date;
  if (next.kind == EventKind::op) {
    operate(next);
  } else {
    arrive(next);
  }
  if (!woken.waiting.empty()) {
    push(std::max(woken.free, event.date), woken.waiting.top().number, EventKind::processor,
         event.rank, event.index);
  }
}

// Returns false if a route is missing.
bool GoalRun::act(const Event& event) {
  switch (event.kind) {
    case EventKind::op:
      operate(event);
      return true;
    case EventKind::inject:
      return inject(event);
    case EventKind::arrival:
      arrive(event);
      return true;
    case EventKind::processor:
      wake_processor(event);
      return true;
  }
  return true;
}

void GoalRun::operate(const Event& event) {
  const GoalOp& op = op_of(event.rank, event.index);
  const double date = event.date;
  if (op.kind == GoalKind::receive) {
    receive(event.rank, event.index, date);
    return;
  }
  if (!take_processor(event, op.cpu)) return;
  double& free = processor(event.rank, op.cpu).free;
  begin(event.rank, event.index, date);
  if (op.kind == GoalKind::compute) {
    free = date + static_cast<double>(op.amount) * seconds_[static_cast<std::size_t>(event.rank)];
    end(event.rank, event.index, free);
    return;
  }
  const double size = static_cast<double>(op.amount);
  const OverheadTable& overheads = overheads_of(event.rank).send;
  free = date + overheads.at(size);
  std::uint32_t number = static_cast<std::uint32_t>(messages_.size());
  if (free_messages_.empty()) {
    messages_.emplace_back();
  } else {
    number = free_messages_.back();
    free_messages_.pop_back();
  }
  messages_[number] = {event.rank, op.peer, event.index, numbers_++, 0};
  ++messages_sent_;
  push(date + overheads.base_at(size), messages_[number].number, EventKind::inject, event.rank,
       number);
  if (op.amount < threshold_) end(event.rank, event.index, free);
}

bool GoalRun::inject(const Event& event) {
  const Message& message = messages_[event.index];
  if (network_ == nullptr) {
    push(event.date, message.number, EventKind::arrival, message.to, event.index);
    return true;
  }
  const std::int32_t activity = network_->transfer(
      hosts_[static_cast<std::size_t>(message.from)], hosts_[static_cast<std::size_t>(message.to)],
      static_cast<double>(op_of(message.from, message.op).amount));
  if (activity < 0) return false;
  under_way_.emplace(activity, event.index);
  return true;
}

void GoalRun::receive(std::int32_t rank, std::uint32_t op, double date) {
  begin(rank, op, date);
  const GoalOp& wanted = op_of(rank, op);
  const auto early = rank_of(rank).unexpected.take(wanted.peer, wanted.tag);
  if (!early) {
    rank_of(rank).posted.add(wanted.peer, wanted.tag, op);
    return;
  }
  const Message& message = messages_[*early];
  if (rendezvous(message)) end(message.from, message.op, date);
  end(rank, op, std::max(date, message.taken));
  free_messages_.push_back(*early);
}

void GoalRun::arrive(const Event& event) {
  Message& message = messages_[event.index];
  const GoalOp& sent = op_of(message.from, message.op);
  if (!take_processor(event, sent.cpu)) return;
  message.taken =
      event.date + overheads_of(event.rank).receive.at(static_cast<double>(sent.amount));
  processor(event.rank, sent.cpu).free = message.taken;
  const auto receive = rank_of(event.rank).posted.take(message.from, sent.tag);
  if (!receive) {
    rank_of(event.rank).unexpected.add(message.from, sent.tag, event.index);
    return;
  }
  if (rendezvous(message)) end(message.from, message.op, event.date);
  end(event.rank, *receive, message.taken);
  free_messages_.push_back(event.index);
}

std::int64_t GoalRun::unexpected() const {
  std::int64_t count = 0;
  for (const Rank& rank : ranks_) count += static_cast<std::int64_t>(rank.unexpected.size());
  return count;
}

std::vector<double> GoalRun::ends() const {
  std::vector<double> ends;
  for (const Rank& rank : ranks_) {
    double end = rank.last;
    for (const Processor& processor : rank.processors) end = std::max(end, processor.free);
    ends.push_back(end);
  }
  return ends;
}

std::vector<GoalRun::PendingOperation> GoalRun::pending_operations(std::size_t most) const {
  std::vector<PendingOperation> unfinished;
  for (const State wanted : {State::begun, State::waiting}) {
    for (std::size_t rank = 0; rank < ranks_.size() && unfinished.size() < most; ++rank) {
      const std::vector<std::uint32_t>& lines = schedule_->ranks[rank].lines;
      const std::vector<State>& states = ranks_[rank].states;
      for (std::uint32_t op = 0; op < states.size() && unfinished.size() < most; ++op) {
        if (states[op] == wanted) {
          unfinished.push_back({static_cast<std::int32_t>(rank), op, lines.empty() ? 0 : lines[op],
                                wanted == State::begun});
        }
      }
    }
  }
  return unfinished;
}

}  // namespace tisim
