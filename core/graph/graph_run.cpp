#include "graph/graph_run.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

namespace {

// Minimum share of a GPU left to kernels, however many collectives run at once.
constexpr double kMinShare = 1.0 / 128;

}  // namespace

GraphRun::GraphRun(GraphPrograms programs, bool logs)
    : p_((programs.check(), std::move(programs))),
      flows_(p_),
      logs_(logs),
      streams_(p_.lanes.size() * static_cast<std::size_t>(p_.streams)),
      lanes_(p_.lanes.size()),
      events_(p_.lanes.size() * static_cast<std::size_t>(p_.events)),
      meetings_(p_.parties.size()),
      positions_(streams_.size() + meetings_.size(), -1),
      heap_(Positions{&positions_}) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].lane = static_cast<std::int32_t>(i) / p_.streams;
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (p_.lanes[i] == kNoBlock) continue;
    lanes_[i].frames.push_back(
        {p_.lanes[i], p_.blocks[static_cast<std::size_t>(p_.lanes[i])].first, 1});
  }
}

void GraphRun::launch(std::int32_t index, std::int32_t block, std::int32_t times, double date) {
  if (static_cast<std::size_t>(index) >= lanes_.size())
    throw std::invalid_argument("the graph has fewer ranks");
  Lane& lane = lanes_[static_cast<std::size_t>(index)];
  const bool is_known = block >= 0 && static_cast<std::size_t>(block) < p_.blocks.size();
  if (!lane.frames.empty() || !is_known || times < 1)
    throw std::invalid_argument("a host thread launches one known block after the other");
  advance(date);
  lane.host = now_;
  account(lane);
  if (lane.end >= 0) {
    lane.end = -1;
    --ended_;
  }
  lane.frames.push_back({block, p_.blocks[static_cast<std::size_t>(block)].first, times});
  launch(index);
  settle();
}

void GraphRun::advance(double date) {
  while (!heap_.empty() && heap_.top_date() <= date) {
    step();
    settle();
  }
  now_ = std::max(now_, date);
#ifdef TISIM_VERIFY
  verify();
#endif
}

double GraphRun::next_date() const {
  return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.top_date();
}

void GraphRun::end_meeting(std::int32_t meeting, double date) {
  advance(date);
  leave(meeting);
  settle();
}

bool GraphRun::run(std::int64_t events) {
  if (launched_ == 0) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) launch(static_cast<std::int32_t>(i));
    settle();
  }
  for (; events > 0; --events) {
    if (!flows_.is_solved() && (heap_.empty() || heap_.top_date() > now_)) flows_.solve(now_);
    if (heap_.empty() && flows_.idle()) break;
    step();
    settle();
#ifdef TISIM_VERIFY
    verify();
#endif
  }
  return !heap_.empty() || !flows_.idle();
}

// Processes the next event.
void GraphRun::step() {
  if (!flows_.idle() && flows_.is_solved()) {
    const double end = flows_.next_end();
    if (heap_.empty() || end <= heap_.top_date()) {
      now_ = std::max(now_, end);
      for (const std::int32_t meeting : flows_.ended(now_)) leave(meeting);
      return;
    }
  }
  now_ = heap_.top_date();
  const auto id = static_cast<std::int32_t>(heap_.top_id());
  heap_.pop();
  const auto first_meeting = static_cast<std::int32_t>(streams_.size());
  if (id < first_meeting) {
    if (stream(id).state == StreamState::computing) {
      end_kernel(id);
    } else if (stream(id).state == StreamState::delayed) {
      end_node(id);
    } else {
      to_advance_.push_back(id);
    }
  } else if (meetings_[static_cast<std::size_t>(id - first_meeting)].moves) {
    move(id - first_meeting);
  } else {
    leave(id - first_meeting);
  }
}

// Advances streams until each of them is blocked.
void GraphRun::settle() {
  while (!to_advance_.empty()) {
    const std::int32_t next = to_advance_.back();
    to_advance_.pop_back();
    advance(next);
  }
}

// Advances the host thread until it waits for a stream.
void GraphRun::launch(std::int32_t index) {
  Lane& lane = lanes_[static_cast<std::size_t>(index)];
  if (lane.blocked_by >= 0) {
    lane.blocked_by = -1;
    lane.host = std::max(lane.host, now_);
  }
  while (!lane.frames.empty()) {
    Frame& frame = lane.frames.back();
    const Block& block = p_.blocks[static_cast<std::size_t>(frame.block)];
    if (frame.next == block.end) {
      frame.next = block.first;
      if (--frame.left == 0) lane.frames.pop_back();
      continue;
    }
    const Node& next = node(frame.next);
    const std::int32_t to = index * p_.streams + next.stream;
    if (next.kind == NodeKind::repeat) {
      ++frame.next;
      lane.frames.push_back(
          {next.target, p_.blocks[static_cast<std::size_t>(next.target)].first, next.count});
      continue;
    }
    const bool synchronizes = next.kind == NodeKind::synchronize;
    if (stream(to).size >= (synchronizes ? 1 : kQueue) && next.kind != NodeKind::host) {
      lane.blocked_by = to;
      return;
    }
    Entry entry{frame.next, 0, lane.host};
    ++frame.next;
    switch (next.kind) {
      case NodeKind::host:
        lane.host += next.arithmetic;
        continue;
      case NodeKind::synchronize:
        continue;
      case NodeKind::record:
        entry.version = ++event_of(stream(to), next).launched;
        break;
      case NodeKind::wait:
        entry.version = event_of(stream(to), next).launched;
        break;
      case NodeKind::compute:
      case NodeKind::delay:
      case NodeKind::meet:
      case NodeKind::repeat:
        entry.date = lane.host += p_.launch;
        break;
    }
    push(to, entry);
  }
  if (is_externally_driven_) free_threads_.emplace_back(index, lane.host);
  end_if_idle(lane);
}

void GraphRun::push(std::int32_t to, const Entry& entry) {
  Stream& s = stream(to);
  ++launched_;
  if (s.size == s.queue.size()) {
    std::rotate(s.queue.begin(), s.queue.begin() + s.head, s.queue.end());
    s.head = 0;
    s.queue.resize(std::max<std::size_t>(16, 2 * s.queue.size()));
  }
  s.queue[(s.head + s.size) % s.queue.size()] = entry;
  if (s.size++ == 0) {
    ++lane_of(s).busy;
    to_advance_.push_back(to);
  }
}

// Removes the stream's finished node. Resumes the host thread if it waited for that.
void GraphRun::pop(std::int32_t from) {
  Stream& s = stream(from);
  s.head = static_cast<std::uint32_t>((s.head + 1) % s.queue.size());
  --s.size;
  s.state = StreamState::idle;
  Lane& lane = lane_of(s);
  if (s.size == 0) --lane.busy;
  if (lane.blocked_by == from) {
    const Frame& frame = lane.frames.back();
    if (node(frame.next).kind != NodeKind::synchronize || s.size == 0) launch(s.lane);
  } else {
    end_if_idle(lane);
  }
}

void GraphRun::advance(std::int32_t index) {
  Stream& s = stream(index);
  while (s.size != 0) {
    if (s.state != StreamState::idle && s.state != StreamState::sleeping &&
        s.state != StreamState::waiting)
      return;
    const Entry entry = head(s);
    if (entry.date > now_) {
      s.state = StreamState::sleeping;
      heap_.update(entry.date, static_cast<std::uint32_t>(index));
      return;
    }
    const Node& next = node(entry.node);
    s.begin = now_;
    if (next.kind == NodeKind::compute) {
      Lane& lane = lane_of(s);
      account(lane);
      s.state = StreamState::computing;
      s.left = 1;
      s.rate = 0;
      s.since = now_;
      lane.computing.push_back(index);
      share(lane);
      return;
    }
    if (next.kind == NodeKind::meet) {
      arrive(index);
      return;
    }
    if (next.kind == NodeKind::delay) {
      s.state = StreamState::delayed;
      heap_.update(now_ + next.arithmetic, static_cast<std::uint32_t>(index));
      return;
    }
    Event& event = event_of(s, next);
    if (next.kind == NodeKind::wait && event.done < entry.version) {
      s.state = StreamState::waiting;
      event.waiting.push_back(index);
      return;
    }
    if (next.kind == NodeKind::record) {
      event.done = entry.version;
      to_advance_.insert(to_advance_.end(), event.waiting.begin(), event.waiting.end());
      event.waiting.clear();
    }
    pop(index);
  }
}

void GraphRun::arrive(std::int32_t index) {
  Stream& s = stream(index);
  const std::int32_t own = head(s).node;
  const Node& called = node(own);
  Meeting& meeting = meetings_[static_cast<std::size_t>(called.target)];
  Lane& lane = lane_of(s);
  account(lane);
  s.state = StreamState::arriving;
  ++lane.arrivals;
  if (!meeting.streams.empty()) {
    const std::int32_t first = head(stream(meeting.streams.front())).node;
    if (node(first).count != called.count) throw GraphMismatch(first, own);
  }
  meeting.streams.push_back(index);
  if (static_cast<std::int32_t>(meeting.streams.size()) !=
      p_.parties[static_cast<std::size_t>(called.target)]) {
    return;
  }
  const MeetingCall& call = p_.calls[static_cast<std::size_t>(called.count)];
  meeting.start = now_;
  for (const std::int32_t each : meeting.streams) {
    Lane& party = lane_of(stream(each));
    account(party);
    stream(each).state = StreamState::meeting;
    --party.arrivals;
    ++party.meetings;
    party.sms += call.sms;
    party.memory += call.memory;
    share(party);
  }
  meeting.moves = call.bytes > 0;
  heap_.push(now_ + call.seconds, static_cast<std::uint32_t>(streams_.size()) +
                                      static_cast<std::uint32_t>(called.target));
}

// The fixed time of a meeting is over: starts moving its bytes.
void GraphRun::move(std::int32_t index) {
  Meeting& meeting = meetings_[static_cast<std::size_t>(index)];
  meeting.moves = false;
  const std::int32_t call = node(head(stream(meeting.streams.front())).node).count;
  if (is_externally_driven_) {
    moving_.emplace_back(index, call);
  } else {
    flows_.start(index, call, now_);
  }
}

void GraphRun::leave(std::int32_t index) {
  Meeting& meeting = meetings_[static_cast<std::size_t>(index)];
  const std::vector<std::int32_t> parties = std::exchange(meeting.streams, {});
  const Node& called = node(head(stream(parties.front())).node);
  const MeetingCall& call = p_.calls[static_cast<std::size_t>(called.count)];
  for (const std::int32_t each : parties) {
    Stream& s = stream(each);
    Lane& lane = lane_of(s);
    account(lane);
    if (--lane.meetings == 0) {
      lane.sms = lane.memory = 0;
    } else {
      lane.sms -= call.sms;
      lane.memory -= call.memory;
    }
    share(lane);
    if (logs_) spans_.push_back({each, head(s).node, s.begin, meeting.start, now_});
    pop(each);
    to_advance_.push_back(each);
  }
}

void GraphRun::end_kernel(std::int32_t index) {
  Stream& s = stream(index);
  Lane& lane = lane_of(s);
  account(lane);
  lane.computing.erase(std::find(lane.computing.begin(), lane.computing.end(), index));
  share(lane);
  end_node(index);
}

void GraphRun::end_node(std::int32_t index) {
  const Stream& s = stream(index);
  if (logs_) spans_.push_back({index, head(s).node, s.begin, s.begin, now_});
  pop(index);
  to_advance_.push_back(index);
}

// Updates the rates of a lane's kernels. A kernel with an unchanged rate keeps its exact end date.
void GraphRun::share(Lane& lane) {
  const double sms = std::max(1 - lane.sms, kMinShare);
  const double memory = std::max(1 - lane.memory, kMinShare);
  for (const std::int32_t index : lane.computing) {
    Stream& s = stream(index);
    const Node& kernel = node(head(s).node);
    const double alone = std::max(kernel.arithmetic / sms, kernel.memory / memory);
    const double rate = 1 / (alone * static_cast<double>(lane.computing.size()));
    if (rate == s.rate) continue;
    s.left = alone == 0 ? 0 : std::max(0.0, s.left - (now_ - s.since) * s.rate);
    s.since = now_;
    s.rate = rate;
    heap_.update(alone == 0 ? now_ : now_ + s.left / rate, static_cast<std::uint32_t>(index));
  }
}

// Adds the time since the last change to the GPU's current occupation.
void GraphRun::account(Lane& lane) {
  const bool computes = !lane.computing.empty();
  const Occupation did = computes && lane.meetings > 0 ? Occupation::overlapped
                         : computes                    ? Occupation::compute
                         : lane.meetings > 0           ? Occupation::exposed
                         : lane.arrivals > 0           ? Occupation::waiting
                                                       : Occupation::idle;
  lane.seconds[static_cast<std::size_t>(did)] += now_ - lane.since;
  lane.since = now_;
}

void GraphRun::end_if_idle(Lane& lane) {
  if (!lane.frames.empty() || lane.busy != 0 || lane.end >= 0) return;
  account(lane);
  lane.end = std::max(now_, lane.host);
  lane.seconds[static_cast<std::size_t>(Occupation::idle)] += lane.end - now_;
  ++ended_;
}

std::vector<std::pair<std::int32_t, std::int32_t>> GraphRun::current_nodes() const {
  std::vector<std::pair<std::int32_t, std::int32_t>> stuck;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].size != 0)
      stuck.emplace_back(static_cast<std::int32_t>(i), head(streams_[i]).node);
  }
  return stuck;
}

void GraphRun::verify() const {
  ensure(heap_.is_consistent([](std::uint32_t) { return true; }),
         "the events of graphs are a heap");
  ensure(heap_.empty() || heap_.top_date() >= now_, "no event of a graph is in the past");
  if (flows_.is_solved()) flows_.verify(now_);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    std::int32_t busy = 0, arrivals = 0, meetings = 0;
    std::size_t computing = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(p_.streams); ++k) {
      const Stream& s = streams_[i * static_cast<std::size_t>(p_.streams) + k];
      busy += s.size != 0;
      arrivals += s.state == StreamState::arriving;
      meetings += s.state == StreamState::meeting;
      computing += s.state == StreamState::computing;
    }
    ensure(busy == lane.busy && arrivals == lane.arrivals && meetings == lane.meetings &&
               computing == lane.computing.size(),
           "a lane counts its busy, arriving, meeting and computing streams");
  }
}

}  // namespace tisim
