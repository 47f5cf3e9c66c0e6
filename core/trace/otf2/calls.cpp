#include "trace/otf2/calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace tisim {

namespace {

std::unordered_set<std::uint32_t> set_of(const std::vector<std::uint32_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<bool> flags_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<bool> flags(256);
  for (const std::uint32_t number : numbers) flags[number & 255] = true;
  return flags;
}

std::uint64_t hash_of_words(const std::vector<std::uint64_t>& words) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

Otf2Calls::Otf2Calls(const Otf2Definitions& definitions)
    : calls_of_mpi_(set_of(definitions.calls)),
      exchanges_(set_of(definitions.exchanges)),
      ends_of_mpi_(set_of(definitions.ends)),
      communicators_(set_of(definitions.communicators)),
      handles_(set_of(definitions.handles)),
      files_(set_of(definitions.files)),
      has_line_(flags_of(definitions.collectives)),
      is_vector_(flags_of(definitions.vectors)),
      metric_(definitions.metric),
      metric_place_(definitions.metric_place),
      keeps_times_(definitions.keeps_times),
      table_(256, 0) {}

void Otf2Calls::enter(std::uint64_t time, std::uint32_t region) {
  ++event_;
  if (!is_call(region)) {
    if (open_.empty()) functions_.enter(region);
    return;
  }
  const bool is_outermost = open_.empty();
  if (is_outermost) {
    first_event_ = event_;
    computed_before_ = computed_until(time);
    entered_ = time;
  }
  open_.push_back(region);
  add(RecordKind::enter, {region});
  if (is_outermost && functions_.current() != CallTree::kRoot) {
    add(RecordKind::called_from, {functions_.current()});
  }
  if (ends_of_mpi_.count(region) != 0) has_ended_ = true;
}

void Otf2Calls::leave(std::uint64_t time, std::uint32_t region) {
  ++event_;
  if (open_.empty() || !is_call(region)) {
    if (open_.empty()) functions_.leave(region);
    return;
  }
  open_.pop_back();
  if (!open_.empty()) {
    add(RecordKind::leave, {region});
    return;
  }
  if (has_half_[0] || has_half_[1]) add_exchange();
  if (!completed_.empty()) add_completed();
  add(RecordKind::leave, {region});
  if (keeps_times_) {
    begins_.push_back(entered_);
    ends_.push_back(time);
  }
  end_call();
  computes_ = !has_ended_;
  restart(time);
}

// The rank's computation since the previous call, if it computes.
std::int64_t Otf2Calls::computed_until(std::uint64_t time) {
  const std::int64_t held = std::exchange(held_, kNotComputed);
  if (!computes_) return held;
  const std::int64_t amount =
      metric_ >= 0 ? static_cast<std::int64_t>(counted_ - started_count_)
                   : std::max<std::int64_t>(static_cast<std::int64_t>(time - began_) - flushed_, 0);
  return held == kNotComputed ? amount : held + amount;
}

// Outside of all calls, the computation up to here belongs before the next call.
void Otf2Calls::hold(std::uint64_t time) {
  if (!open_.empty()) return;
  held_ = computed_until(time);
  restart(time);
}

void Otf2Calls::restart(std::uint64_t time) {
  began_ = time;
  started_count_ = counted_;
  flushed_ = 0;
}

void Otf2Calls::flush(std::uint64_t time, std::uint64_t stop) {
  lost(Otf2Loss::flush);
  flushed_ += static_cast<std::int64_t>(stop - time);
}

void Otf2Calls::metric(std::uint32_t metric, std::uint32_t count, const std::uint64_t* values) {
  ++event_;
  if (metric_ == metric && metric_place_ < count) counted_ = values[metric_place_];
}

void Otf2Calls::message(RecordKind kind, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                        std::uint64_t bytes) {
  ++event_;
  if (!open_.empty() && kind != RecordKind::probe && exchanges_.count(open_.back()) != 0) {
    has_half_[kind == RecordKind::send ? 0 : 1] = communicators_.count(comm) != 0;
  }
  begin_outside();
  add(kind, {peer, comm, tag, bytes});
  end_outside();
}

void Otf2Calls::isend(std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                      std::uint64_t bytes, std::uint64_t request) {
  ++event_;
  begin_outside();
  const std::uint64_t number =
      communicators_.count(comm) != 0 ? requests_.assign(request) : kNoNumber;
  add(RecordKind::isend, {peer, comm, tag, bytes, number});
  end_outside();
}

void Otf2Calls::isend_complete(std::uint64_t request) {
  ++event_;
  completed_.push_back(request);
}

void Otf2Calls::post(std::uint64_t request) {
  ++event_;
  begin_outside();
  const std::uint64_t number = requests_.assign(request);
  slots_[request] = {calls_.size(), words_.size()};
  ++open_slots_;
  add(RecordKind::nothing, {0, 0, 0, 0, 0, 0, 0, number});
  end_outside();
}

void Otf2Calls::irecv(std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                      std::uint64_t bytes, std::uint64_t request) {
  const auto known = slots_.find(request);
  if (known == slots_.end()) return lost(Otf2Loss::receive_without_beginning);
  ++event_;
  const Slot slot = known->second;
  slots_.erase(known);
  fill(slot, RecordKind::posted_receive, {peer, comm, tag, bytes});
  if (communicators_.count(comm) != 0) {
    completed_.push_back(request);
  } else {
    requests_.release(request);
  }
}

void Otf2Calls::cancelled(std::uint64_t request) {
  const auto posted = slots_.find(request);
  if (posted != slots_.end()) {
    lost(Otf2Loss::cancelled_receive);
    const Slot slot = posted->second;
    slots_.erase(posted);
    requests_.release(request);
    fill(slot, RecordKind::nothing, {});
    return;
  }
  ++event_;
  const std::uint64_t sent = requests_.find(request);
  if (sent != kNoNumber) {
    begin_outside();
    add(RecordKind::cancel, {sent});
    end_outside();
  }
  completed_.push_back(request);
}

void Otf2Calls::collective(std::uint32_t operation, std::uint32_t comm, std::uint32_t root,
                           std::uint64_t sent, std::uint64_t received) {
  ++event_;
  begin_outside();
  add(RecordKind::collective, {operation, comm, root, sent, received, position(operation, comm)});
  end_outside();
}

void Otf2Calls::icollective(std::uint32_t operation, std::uint32_t comm, std::uint32_t root,
                            std::uint64_t sent, std::uint64_t received, std::uint64_t request) {
  const auto known = slots_.find(request);
  if (known == slots_.end()) return lost(Otf2Loss::collective_without_beginning);
  ++event_;
  const Slot slot = known->second;
  slots_.erase(known);
  fill(slot, RecordKind::posted_collective,
       {operation, comm, root, sent, received, position(operation, comm)});
  if (has_line_[operation & 255] && communicators_.count(comm) != 0) {
    completed_.push_back(request);
  } else {
    requests_.release(request);
  }
}

void Otf2Calls::io_create(std::uint64_t time, std::uint32_t handle, std::uint32_t mode,
                          std::uint32_t creation, std::uint32_t status) {
  constexpr std::uint32_t kReadWrite = 2;  // OTF2_IO_ACCESS_MODE_*; larger ones are of programs
  if (has_files()) ++event_;
  if (handles_.count(handle) == 0 || mode > kReadWrite) return;
  const std::uint64_t before = open_files_.release(handle);
  if (before != kNoNumber) io(time, RecordKind::io_close, {before});
  io(time, RecordKind::io_open, {open_files_.assign(handle), handle, mode, creation, status});
}

void Otf2Calls::io_destroy(std::uint64_t time, std::uint32_t handle) {
  if (has_files()) ++event_;
  const std::uint64_t number = open_files_.release(handle);
  if (number != kNoNumber) io(time, RecordKind::io_close, {number});
}

void Otf2Calls::io_seek(std::uint64_t time, std::uint32_t handle, std::uint64_t position) {
  if (has_files()) ++event_;
  const std::uint64_t number = open_files_.find(handle);
  if (number != kNoNumber && in_progress_.empty())
    io(time, RecordKind::io_seek, {number, position});
}

void Otf2Calls::io_delete(std::uint64_t time, std::uint32_t file) {
  if (!has_files()) return;
  ++event_;
  if (files_.count(file) != 0) io(time, RecordKind::io_delete, {file});
}

void Otf2Calls::io_duplicate() {
  if (has_files()) lost(Otf2Loss::io_duplicate);
}

void Otf2Calls::io_begin(std::uint64_t time, std::uint32_t handle, std::uint32_t mode,
                         std::uint32_t flags, std::uint64_t bytes, std::uint64_t id) {
  if (!has_files()) return lost(Otf2Loss::io);
  ++event_;
  if (in_progress_.empty()) hold(time);
  in_progress_[{handle, id}] = {mode, flags, bytes, time};
}

void Otf2Calls::io_complete(std::uint64_t time, std::uint32_t handle, std::uint64_t bytes,
                            std::uint64_t id) {
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  if (has_files()) ++event_;
  const auto known = in_progress_.find({handle, id});
  if (known == in_progress_.end()) return;
  const Operation done = known->second;
  in_progress_.erase(known);
  if (!in_progress_.empty()) return;  // part of another one
  begin_outside();
  add(RecordKind::io_access, {open_files_.find(handle), handle, done.mode, done.flags,
                              bytes == kUnknown ? done.bytes : bytes});
  if (!open_.empty()) return;
  end_outside();
  if (keeps_times_) {
    begins_.back() = done.began;
    ends_.back() = time;
  }
  restart(time);
}

void Otf2Calls::io_cancelled(std::uint64_t time, std::uint32_t handle, std::uint64_t id) {
  if (!has_files()) return;
  if (in_progress_.erase({handle, id}) == 0) {
    ++event_;
    return;
  }
  lost(Otf2Loss::io_cancelled);
  if (in_progress_.empty() && open_.empty()) restart(time);
}

// A call on a file that takes no time.
void Otf2Calls::io(std::uint64_t time, RecordKind kind,
                   std::initializer_list<std::uint64_t> fields) {
  hold(time);
  begin_outside();
  add(kind, fields);
  end_outside();
}

void Otf2Calls::lost(Otf2Loss loss) {
  ++event_;
  auto& [count, first] = losses_[static_cast<std::size_t>(loss)];
  if (count++ == 0) first = event_;
}

void Otf2Calls::finish() {
  if (!open_.empty()) {
    open_.clear();
    end_call();
  }
  for (const auto& [request, slot] : slots_) {
    auto& [count, first] = losses_[static_cast<std::size_t>(Otf2Loss::never_completed)];
    if (count++ == 0) first = event_;
    fill(slot, RecordKind::nothing, {});
  }
  slots_.clear();
}

std::vector<std::uint64_t> Otf2Calls::record(std::size_t number) const {
  const auto words = all_words_.begin();
  const std::size_t from = number == 0 ? 0 : record_ends_[number - 1];
  return {words + static_cast<std::ptrdiff_t>(from),
          words + static_cast<std::ptrdiff_t>(record_ends_[number])};
}

std::vector<std::int64_t> Otf2Calls::volumes(const std::vector<std::uint32_t>& lines,
                                             double per_second, double speed) const {
  std::vector<std::int64_t> amounts(calls_.size() + 1, -1);
  double carried = 0;
  const auto take = [&](std::int64_t& volume) {
    const double rounded = std::nearbyint(carried);
    if (rounded <= 0) return;
    volume = static_cast<std::int64_t>(rounded);
    carried = 0;
  };
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (computed_[i] != kNotComputed) {
      const auto amount = static_cast<double>(computed_[i]);
      carried += metric_ >= 0 ? amount : amount / per_second * speed;
    }
    if (lines[calls_[i]] > 0) take(amounts[i]);
  }
  take(amounts.back());
  return amounts;
}

std::uint64_t SmallestNumbers::assign(std::uint64_t key) {
  release(key);
  std::uint64_t number = numbers_.size();
  if (!free_.empty()) {
    number = free_.top();
    free_.pop();
  }
  numbers_.emplace(key, number);
  return number;
}

std::uint64_t SmallestNumbers::find(std::uint64_t key) const {
  const auto known = numbers_.find(key);
  return known == numbers_.end() ? kNoNumber : known->second;
}

std::uint64_t SmallestNumbers::release(std::uint64_t key) {
  const auto known = numbers_.find(key);
  if (known == numbers_.end()) return kNoNumber;
  const std::uint64_t number = known->second;
  numbers_.erase(known);
  free_.push(number);
  return number;
}

void Otf2Calls::add(RecordKind kind, std::initializer_list<std::uint64_t> fields) {
  words_.push_back(static_cast<std::uint64_t>(kind));
  words_.insert(words_.end(), fields.begin(), fields.end());
}

// The halves of an exchange are two requests that are posted and completed at once.
void Otf2Calls::add_exchange() {
  std::uint64_t numbers[2] = {kNoNumber, kNoNumber};
  for (const unsigned half : {0U, 1U}) {
    if (has_half_[half]) numbers[half] = requests_.assign(kNoNumber - half);
  }
  add(RecordKind::exchange, {numbers[0], numbers[1]});
  for (const unsigned half : {0U, 1U}) {
    requests_.release(kNoNumber - half);
    has_half_[half] = false;
  }
}

void Otf2Calls::add_completed() {
  add(RecordKind::completed, {0});
  const std::size_t count = words_.size() - 1;
  for (const std::uint64_t request : completed_) {
    const std::uint64_t number = requests_.release(request);
    if (number != kNoNumber) words_.push_back(number);
  }
  words_[count] = words_.size() - count - 1;
  completed_.clear();
}

// An event outside of all calls is a call by itself.
void Otf2Calls::begin_outside() {
  if (!open_.empty()) return;
  first_event_ = event_;
  computed_before_ = std::exchange(held_, kNotComputed);
}

void Otf2Calls::end_outside() {
  if (!open_.empty()) return;
  if (keeps_times_) {
    begins_.push_back(0);
    ends_.push_back(0);
  }
  end_call();
}

void Otf2Calls::end_call() {
  const std::size_t call = calls_.size();
  calls_.push_back(0);
  computed_.push_back(computed_before_);
  if (open_slots_ > 0) {
    pending_[call] = {words_, first_event_, open_slots_};
  } else {
    calls_[call] = number_of(words_, first_event_);
  }
  words_.clear();
  open_slots_ = 0;
}

void Otf2Calls::fill(const Slot& slot, RecordKind kind,
                     std::initializer_list<std::uint64_t> fields) {
  const bool is_here = slot.call == calls_.size();
  Pending* pending = is_here ? nullptr : &pending_.at(slot.call);
  std::uint64_t* words = (is_here ? words_.data() : pending->words.data()) + slot.word;
  words[0] = static_cast<std::uint64_t>(kind);
  std::copy(fields.begin(), fields.end(), words + 1);
  // A number without a line carries no information.
  if (kind == RecordKind::nothing) words[kRecordKinds[0].fields] = 0;
  if (is_here) {
    --open_slots_;
  } else if (--pending->slots == 0) {
    calls_[slot.call] = number_of(pending->words, pending->event);
    pending_.erase(slot.call);
  }
}

// Collectives with per-rank sizes are kept apart even if a rank's own sizes are equal: the sizes of
// other ranks may differ.
std::uint64_t Otf2Calls::position(std::uint32_t operation, std::uint32_t comm) {
  return is_vector_[operation & 255] ? positions_[comm]++ : 0;
}

std::uint32_t Otf2Calls::number_of(const std::vector<std::uint64_t>& words, std::uint64_t event) {
  const std::uint64_t hash = hash_of_words(words);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t number = table_[at] - 1;
    const std::size_t from = number == 0 ? 0 : record_ends_[number - 1];
    if (hashes_[number] == hash && record_ends_[number] - from == words.size() &&
        std::memcmp(all_words_.data() + from, words.data(), words.size() * sizeof(std::uint64_t)) ==
            0) {
      first_events_[number] = std::min(first_events_[number], event);
      return number;
    }
  }
  const auto number = static_cast<std::uint32_t>(hashes_.size());
  hashes_.push_back(hash);
  first_events_.push_back(event);
  all_words_.insert(all_words_.end(), words.begin(), words.end());
  record_ends_.push_back(all_words_.size());
  table_[at] = number + 1;
  if (2 * hashes_.size() > table_.size()) grow();
  return number;
}

void Otf2Calls::grow() {
  table_.assign(2 * table_.size(), 0);
  const std::size_t mask = table_.size() - 1;
  for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
    std::size_t at = hashes_[number] & mask;
    while (table_[at] != 0) at = (at + 1) & mask;
    table_[at] = number + 1;
  }
}

}  // namespace tisim
