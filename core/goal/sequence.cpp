#include "goal/sequence.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trace/vocabulary/op.hpp"

namespace tisim {

GoalSequence::GoalSequence(std::shared_ptr<const GoalSchedule> schedule, std::size_t rank,
                           double speed)
    : schedule_(std::move(schedule)),
      rank_(schedule_->ranks.at(rank)),
      number_(rank),
      speed_(speed),
      states_(rank_.ops.size()),
      left_(rank_.ops.size()) {
  std::optional<std::uint8_t> cpu;
  for (std::uint32_t op = 0; op < left_; ++op) {
    const GoalOp& operation = rank_.ops[op];
    if (operation.kind != GoalKind::compute) continue;
    if (cpu.value_or(operation.cpu) != operation.cpu) {
      throw GoalError("rank " + std::to_string(rank) + ", " + rank_.place(op) +
                          ": computes on the processors " + std::to_string(*cpu) + " and " +
                          std::to_string(operation.cpu) +
                          " at the same time, but a rank of a trace has only one",
                      0);
    }
    cpu = operation.cpu;
  }
  find_earlier();
  for (std::uint32_t op = 0; op < left_; ++op) sort(op);
}

void GoalSequence::find_earlier() {
  const auto count = static_cast<std::uint32_t>(rank_.ops.size());
  for (std::uint32_t op = 0; op < count; ++op) {
    for (const std::uint32_t later : rank_.after_end(op)) ++states_[later].ends;
    for (const std::uint32_t later : rank_.after_start(op)) ++states_[later].starts;
  }
  first_.assign(count + std::size_t{1}, 0);
  for (std::uint32_t op = 0; op < count; ++op) first_[op + 1] = first_[op] + states_[op].ends;
  earlier_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t op = 0; op < count; ++op) {
    for (const std::uint32_t later : rank_.after_end(op)) earlier_[next[later]++] = op;
  }
}

std::string GoalSequence::take(std::size_t bytes) {
  text_.clear();
  if (std::exchange(is_at_begin_, false)) line("init");
  while (left_ > 0 && text_.size() < bytes) {
    if (!messages_.empty()) {
      post(messages_.top());
    } else if (!computations_.empty()) {
      compute(computations_.top());
    } else {
      wait();
    }
  }
  if (left_ == 0 && !std::exchange(is_at_end_, true)) {
    std::vector<std::uint32_t> pending;
    for (std::uint32_t op = 0; op < states_.size(); ++op) {
      if (!states_[op].has_ended) pending.push_back(op);
    }
    complete(pending);
    line("finalize");
  }
  return std::move(text_);
}

// Moves an operation to the right set after its dependencies have changed.
void GoalSequence::sort(std::uint32_t op) {
  const State& state = states_[op];
  if (state.starts == 0 && state.ends > 0 && state.under_way == state.ends) {
    waiting_.insert(op);
    return;
  }
  waiting_.erase(op);
  if (state.starts > 0 || state.ends > 0) return;
  (rank_.ops[op].kind == GoalKind::compute ? computations_ : messages_).push(op);
}

void GoalSequence::post(std::uint32_t op) {
  messages_.pop();
  const GoalOp& message = rank_.ops[op];
  State& state = states_[op];
  if (free_requests_.empty()) {
    state.request = requests_++;
  } else {
    state.request = free_requests_.top();
    free_requests_.pop();
  }
  write_volume();
  write("", number_);
  text_ += message.kind == GoalKind::send ? " isend" : " irecv";
  write(" ", message.peer == kGoalAny ? kAnySource : message.peer);
  write(" ", message.tag == kGoalAny ? kAnyTag : message.tag);
  write(" ", message.amount);
  write(" request=", state.request);
  text_ += '\n';
  for (const std::uint32_t later : rank_.after_end(op)) {
    ++states_[later].under_way;
    sort(later);
  }
  begin(op);
}

void GoalSequence::compute(std::uint32_t op) {
  computations_.pop();
  begin(op);
  // Operations that may begin when a computation begins precede it in a sequence.
  while (!messages_.empty()) post(messages_.top());
  volume_ += static_cast<double>(rank_.ops[op].amount) * 1e-9 * speed_;
  end(op, false);
}

void GoalSequence::begin(std::uint32_t op) {
  --left_;
  for (const std::uint32_t later : rank_.after_start(op)) {
    --states_[later].starts;
    sort(later);
  }
}

void GoalSequence::end(std::uint32_t op, bool was_under_way) {
  states_[op].has_ended = true;
  for (const std::uint32_t later : rank_.after_end(op)) {
    --states_[later].ends;
    states_[later].under_way -= was_under_way;
    sort(later);
  }
}

void GoalSequence::wait() {
  if (waiting_.empty()) {
    throw GoalError(
        "operations of rank " + std::to_string(number_) + " require one another, so none can begin",
        0);
  }
  const std::uint32_t first = *waiting_.begin();
  std::vector<std::uint32_t> needed;
  for (const std::uint32_t op : earlier(first)) {
    // A schedule may state the same dependency twice.
    if (!states_[op].has_ended && (needed.empty() || needed.back() != op)) needed.push_back(op);
  }
  for (auto other = std::next(waiting_.begin()); other != waiting_.end(); ++other) {
    const std::span<const std::uint32_t> of_other = earlier(*other);
    const auto is_of_other = [&](std::uint32_t op) {
      return std::binary_search(of_other.begin(), of_other.end(), op);
    };
    if (std::all_of(needed.begin(), needed.end(), is_of_other)) continue;
    if (open_waits_++ == 0) first_open_ = first;
    break;
  }
  complete(needed);
  for (const std::uint32_t op : needed) end(op, true);
}

// Writes a wait for messages in flight.
void GoalSequence::complete(const std::vector<std::uint32_t>& ops) {
  if (ops.empty()) return;
  write_volume();
  write("", number_);
  text_ += ops.size() == 1 ? " wait request=" : " waitall requests=";
  std::string_view before;
  for (const std::uint32_t op : ops) {
    write(std::exchange(before, ","), states_[op].request);
    free_requests_.push(states_[op].request);
  }
  text_ += '\n';
}

void GoalSequence::write_volume() {
  if (!std::isfinite(volume_)) {
    throw GoalError(
        "rank " + std::to_string(number_) + " has a computation whose volume is infinite", 0);
  }
  const double amount = std::nearbyint(volume_);
  if (amount <= 0) return;
  write("", number_);
  text_ += " compute ";
  char digits[320];
  const auto [end, error] =
      std::to_chars(digits, std::end(digits), amount, std::chars_format::fixed, 0);
  text_.append(digits, end);
  text_ += '\n';
  volume_ = 0;
}

void GoalSequence::line(std::string_view word) {
  write_volume();
  write("", number_);
  text_ += ' ';
  text_ += word;
  text_ += '\n';
}

template <class Number>
void GoalSequence::write(std::string_view before, Number value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, std::end(digits), value);
  text_ += before;
  text_.append(digits, end);
}

}  // namespace tisim
