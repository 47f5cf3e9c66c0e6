// Executes programs that are graphs: when each node of each stream begins and ends.
//
// Concurrent kernels share a GPU equally. A collective takes SMs and memory bandwidth from kernels
// that run at the same time: a kernel of `arithmetic` and `memory` seconds then takes
// max(arithmetic / free SMs, memory / free bandwidth), each as a fraction of the total.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/meeting_flows.hpp"
#include "graph/program.hpp"
#include "support/heap.hpp"

namespace tisim {

// The state of a GPU: kernels only, kernels and a meeting, a meeting only, waiting to meet, or
// idle.
enum class Occupation : std::uint8_t { compute, overlapped, exposed, waiting, idle };
inline constexpr std::size_t kOccupations = 5;

// A kernel or a meeting, from its begin (for a meeting: the lane's arrival) to its end.
struct GraphSpan {
  std::int32_t stream, node;  // streams are numbered across all lanes
  double begin, start, end;
};

class GraphRun {
 public:
  // Throws std::invalid_argument. `logs`: whether to keep the spans.
  GraphRun(GraphPrograms programs, bool logs);
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  // Runs up to `events` events. Returns false if none are left. Throws GraphMismatch.
  bool run(std::int64_t events);
  double now() const { return now_; }

  // The functions below replace `run` for a caller with its own clock and network; dates must not
  // decrease. After this call, the caller moves the bytes, and `take_launched` reports idle host
  // threads.
  void drive_externally() { is_externally_driven_ = true; }
  // Lets the idle host thread of a lane launch a block `times` times.
  void launch(std::int32_t lane, std::int32_t block, std::int32_t times, double date);
  // Processes all events up to a date.
  void advance(double date);
  // Returns the date of the next event that does not depend on the caller; infinite if none.
  double next_date() const;
  // Ends a meeting returned by `take_moving`: its bytes have moved.
  void end_meeting(std::int32_t meeting, double date);
  // Returns the meetings, and their calls, whose bytes began to move.
  std::vector<std::pair<std::int32_t, std::int32_t>> take_moving() {
    return std::exchange(moving_, {});
  }
  // Returns the lanes whose host thread has launched all its work, and when.
  std::vector<std::pair<std::int32_t, double>> take_launched() {
    return std::exchange(free_threads_, {});
  }
  const GraphPrograms& programs() const { return p_; }

  std::int64_t launched() const { return launched_; }
  // True once all lanes have ended; if false and no events are left, they wait in a cycle.
  bool is_done() const { return ended_ == lanes_.size(); }

  std::size_t lanes() const { return lanes_.size(); }
  // When the lane's last node ended; negative if it has not.
  double end_of(std::size_t lane) const { return lanes_[lane].end; }
  // Seconds of a lane by Occupation, up to its end.
  const double* occupations(std::size_t lane) const { return lanes_[lane].seconds; }
  const std::vector<GraphSpan>& spans() const { return spans_; }
  // Returns the current node of each stream with nodes left: stream, node.
  std::vector<std::pair<std::int32_t, std::int32_t>> current_nodes() const;

  // Throws BrokenInvariant.
  void verify() const;

 private:
  // Number of nodes a stream can queue before the host thread blocks, as in CUDA.
  static constexpr std::uint32_t kQueue = 1024;

  enum class StreamState : std::uint8_t {
    idle,
    sleeping,
    waiting,
    arriving,
    computing,
    delayed,
    meeting
  };
  struct Entry {
    std::int32_t node;
    std::int32_t version;  // event version
    double date;           // launch date
  };
  struct Stream {
    std::vector<Entry> queue;  // ring buffer, grown on demand
    std::uint32_t head = 0, size = 0;
    StreamState state = StreamState::idle;
    std::int32_t lane = 0;
    double begin = 0;           // start of its current node
    double left = 0, rate = 0;  // of its kernel: remaining fraction, fraction per second
    double since = 0;           // date at which `left` was computed
  };
  struct Event {
    std::int32_t launched = 0, done = 0;  // versions
    std::vector<std::int32_t> waiting;    // streams
  };
  struct Frame {
    std::int32_t block, next, left;
  };
  struct Lane {
    std::vector<Frame> frames;
    double host = 0;               // current date of the host thread
    std::int32_t blocked_by = -1;  // the stream that the host thread waits for
    std::vector<std::int32_t> computing;
    std::int32_t meetings = 0, arrivals = 0, busy = 0;  // busy: streams with nodes
    double sms = 0, memory = 0;                         // used by meetings
    double since = 0, end = -1;
    double seconds[kOccupations] = {};
  };
  struct Meeting {
    std::vector<std::int32_t> streams;  // streams that have arrived
    double start = 0;
    bool moves = false;  // whether bytes move after its fixed time
  };
  struct Positions {
    std::vector<std::int32_t>* at;
    void set(std::uint32_t id, std::int32_t position) const { (*at)[id] = position; }
    std::int32_t get(std::uint32_t id) const { return (*at)[id]; }
  };

  const Node& node(std::int32_t index) const { return p_.nodes[static_cast<std::size_t>(index)]; }
  Stream& stream(std::int32_t index) { return streams_[static_cast<std::size_t>(index)]; }
  Lane& lane_of(const Stream& s) { return lanes_[static_cast<std::size_t>(s.lane)]; }
  Event& event_of(const Stream& s, const Node& n) {
    return events_[static_cast<std::size_t>(s.lane * p_.events + n.target)];
  }
  static const Entry& head(const Stream& s) { return s.queue[s.head]; }

  void launch(std::int32_t lane);
  void push(std::int32_t stream, const Entry& entry);
  void pop(std::int32_t stream);
  void advance(std::int32_t stream);
  void arrive(std::int32_t stream);
  void move(std::int32_t meeting);
  void leave(std::int32_t meeting);
  void end_kernel(std::int32_t stream);
  void end_node(std::int32_t stream);
  void share(Lane& lane);
  void account(Lane& lane);
  void end_if_idle(Lane& lane);
  void settle();
  void step();

  GraphPrograms p_;
  MeetingFlows flows_;
  bool logs_;
  bool is_externally_driven_ = false;
  std::vector<std::pair<std::int32_t, std::int32_t>> moving_;
  std::vector<std::pair<std::int32_t, double>> free_threads_;
  double now_ = 0;
  std::int64_t launched_ = 0;
  std::size_t ended_ = 0;
  std::vector<Stream> streams_;  // streams of all lanes
  std::vector<Lane> lanes_;
  std::vector<Event> events_;
  std::vector<Meeting> meetings_;
  std::vector<std::int32_t> positions_;
  EventHeap<Positions> heap_;             // indices: streams, then meetings
  std::vector<std::int32_t> to_advance_;  // streams whose next node may begin
  std::vector<GraphSpan> spans_;
};

}  // namespace tisim
