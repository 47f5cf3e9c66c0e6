// The calls of one rank in an OTF2 trace, collected while OTF2's library reads its events.
//
// The library is neither linked nor included: whoever drives it tells it the addresses of the
// callbacks below. A program makes few different calls, many times. Each different one is kept
// once, as a record of what happened in it, with the smallest free number for each request; and
// the calls are numbers of records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/otf2/call_tree.hpp"

namespace tisim {

// The contents of a record: a kind, and its fields. Names and numbers of fields: kRecordKinds.
enum class RecordKind : std::uint8_t {
  nothing,  // a request that was never completed, or cancelled
  enter,
  leave,
  send,
  receive,
  isend,
  posted_receive,
  posted_collective,
  collective,
  probe,
  cancel,
  exchange,
  completed,
  called_from,  // the node of the function around it, where there is one
  io_open,      // the number of the file, its handle, and OTF2's mode and flags
  io_close,
  io_seek,    // the number, and the position from then on
  io_delete,  // OTF2's file
  io_access,  // the number, the handle, OTF2's mode and flags, bytes
};
struct RecordKindInfo {
  const char* name;
  std::uint32_t fields;
};
constexpr RecordKindInfo kRecordKinds[] = {
    {"nothing", 8},    {"enter", 1},       {"leave", 1},          {"send", 4},
    {"receive", 4},    {"isend", 5},       {"posted_receive", 8}, {"posted_collective", 8},
    {"collective", 6}, {"probe", 4},       {"cancel", 1},         {"exchange", 2},
    {"completed", 1},  {"called_from", 1}, {"io_open", 5},        {"io_close", 1},
    {"io_seek", 2},    {"io_delete", 1},   {"io_access", 5},
};

// A number that no request and no open file has.
constexpr std::uint64_t kNoNumber = std::numeric_limits<std::uint64_t>::max();

// Events in the trace that are in no record.
enum class Otf2Loss : std::uint8_t {
  flush,
  measurement,
  rma_put,
  rma_get,
  rma_atomic,
  io,
  io_duplicate,
  io_cancelled,
  mrecv,
  cancelled_receive,
  receive_without_beginning,
  collective_without_beginning,
  never_completed,
};
constexpr const char* kOtf2Losses[] = {
    "flush",
    "measurement",
    "rma_put",
    "rma_get",
    "rma_atomic",
    "io",
    "io_duplicate",
    "io_cancelled",
    "mrecv",
    "cancelled_receive",
    "receive_without_beginning",
    "collective_without_beginning",
    "never_completed",
};
constexpr std::size_t kMostOtf2Losses = sizeof(kOtf2Losses) / sizeof(kOtf2Losses[0]);

// The definitions of the trace, by OTF2's numbers.
struct Otf2Definitions {
  std::vector<std::uint32_t> calls;          // regions that are calls of MPI
  std::vector<std::uint32_t> exchanges;      // those that are MPI_Sendrecv
  std::vector<std::uint32_t> ends;           // those that are MPI_Finalize
  std::vector<std::uint32_t> communicators;  // that are known
  std::vector<std::uint32_t> collectives;    // operations that have a line
  std::vector<std::uint32_t> vectors;        // those with a size for each rank
  std::vector<std::uint32_t> handles;        // of files; without any, accesses are lost
  std::vector<std::uint32_t> files;          // that have names
  std::int64_t metric = -1;                  // of the counter that volumes are taken from
  std::uint32_t metric_place = 0;
  bool keeps_times = false;
};

// Gives each key the smallest free number: pending requests, open files.
class SmallestNumbers {
 public:
  std::uint64_t give(std::uint64_t key);
  // The number of a key; kNoNumber: it has none.
  std::uint64_t find(std::uint64_t key) const;
  // The same; the number is free then.
  std::uint64_t release(std::uint64_t key);

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_;
};

class Otf2Calls {
 public:
  // The computation of the rank before a call where it did not compute.
  static constexpr std::int64_t kNotComputed = std::numeric_limits<std::int64_t>::min();

  explicit Otf2Calls(const Otf2Definitions& definitions);

  // The events, in their order.
  void enter(std::uint64_t time, std::uint32_t region);
  void leave(std::uint64_t time, std::uint32_t region);
  void flush(std::uint64_t time, std::uint64_t stop);
  void metric(std::uint32_t metric, std::uint32_t count, const std::uint64_t* values);
  void message(RecordKind kind, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
               std::uint64_t bytes);
  void isend(std::uint32_t peer, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes,
             std::uint64_t request);
  void isend_complete(std::uint64_t request);
  void post(std::uint64_t request);
  void irecv(std::uint32_t peer, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes,
             std::uint64_t request);
  void cancelled(std::uint64_t request);
  void collective(std::uint32_t operation, std::uint32_t comm, std::uint32_t root,
                  std::uint64_t sent, std::uint64_t received);
  void icollective(std::uint32_t operation, std::uint32_t comm, std::uint32_t root,
                   std::uint64_t sent, std::uint64_t received, std::uint64_t request);
  // Those of files. An operation inside another one, such as the writes of POSIX by which one of
  // MPI-IO is made, is part of that.
  void io_create(std::uint64_t time, std::uint32_t handle, std::uint32_t mode,
                 std::uint32_t creation, std::uint32_t status);
  void io_destroy(std::uint64_t time, std::uint32_t handle);
  void io_seek(std::uint64_t time, std::uint32_t handle, std::uint64_t position);
  void io_delete(std::uint64_t time, std::uint32_t file);
  void io_duplicate();
  void io_begin(std::uint64_t time, std::uint32_t handle, std::uint32_t mode, std::uint32_t flags,
                std::uint64_t bytes, std::uint64_t id);
  void io_complete(std::uint64_t time, std::uint32_t handle, std::uint64_t bytes, std::uint64_t id);
  void io_cancelled(std::uint64_t time, std::uint32_t handle, std::uint64_t id);
  void lost(Otf2Loss loss);
  void other() { ++event_; }

  // All events have been read.
  void finish();

  // For each call the number of its record, and the ticks (or the counter's difference) before it.
  const std::vector<std::uint32_t>& calls() const { return calls_; }
  const std::vector<std::int64_t>& computed() const { return computed_; }
  // When each began and ended, if that is kept; 0 for what is outside of calls.
  const std::vector<std::uint64_t>& begins() const { return begins_; }
  const std::vector<std::uint64_t>& ends() const { return ends_; }
  bool has_ended() const { return has_ended_; }
  // The call paths that records name.
  const CallTree& call_tree() const { return functions_; }
  // There was not enough memory.
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  std::uint64_t events() const { return event_; }

  std::size_t records() const { return first_events_.size(); }
  std::vector<std::uint64_t> record(std::size_t number) const;
  // The number of the event with which the first call of a record begins.
  std::uint64_t first_event(std::size_t record) const { return first_events_[record]; }
  // How often, and the number of the first event.
  std::pair<std::uint64_t, std::uint64_t> loss(Otf2Loss kind) const {
    return losses_[static_cast<std::size_t>(kind)];
  }

  // Volumes computed before the first line of each call (below 0: none) and after the last one.
  // `lines`: number of lines of each record. A volume is `computed` / `per_second` * `speed`,
  // rounded; what is computed before a call without lines counts for the next one.
  std::vector<std::int64_t> volumes(const std::vector<std::uint32_t>& lines, double per_second,
                                    double speed) const;

 private:
  // A request that was posted, and where its record takes what is known when it completes.
  struct Slot {
    std::size_t call;
    std::size_t word;
  };
  struct Pending {
    std::vector<std::uint64_t> words;
    std::uint64_t event;
    std::size_t slots;
  };

  // A read, a write or a flush of a file that has begun.
  struct Operation {
    std::uint32_t mode, flags;
    std::uint64_t bytes, began;
  };

  bool is_call(std::uint32_t region) const { return calls_of_mpi_.count(region) != 0; }
  bool has_files() const { return !handles_.empty(); }
  std::int64_t computed_until(std::uint64_t time);
  void hold(std::uint64_t time);
  void restart(std::uint64_t time);
  void io(std::uint64_t time, RecordKind kind, std::initializer_list<std::uint64_t> fields);
  void add(RecordKind kind, std::initializer_list<std::uint64_t> fields);
  void add_exchange();
  void add_completed();
  void begin_outside();
  void end_outside();
  void end_call();
  void fill(const Slot& slot, RecordKind kind, std::initializer_list<std::uint64_t> fields);
  std::uint64_t position(std::uint32_t operation, std::uint32_t comm);
  std::uint32_t number_of(const std::vector<std::uint64_t>& words, std::uint64_t event);
  void grow();

  std::unordered_set<std::uint32_t> calls_of_mpi_, exchanges_, ends_of_mpi_, communicators_;
  std::unordered_set<std::uint32_t> handles_, files_;
  std::vector<bool> has_line_, is_vector_;
  std::int64_t metric_;
  std::uint32_t metric_place_;
  bool keeps_times_;

  bool failed_ = false;
  std::uint64_t event_ = 0;
  CallTree functions_;  // that are not calls of MPI, around the outermost one that is
  // The regions of calls around this event, outermost first.
  std::vector<std::uint32_t> open_;
  std::vector<std::uint64_t> words_;  // of the call at hand
  std::uint64_t first_event_ = 0;     // of the call at hand
  std::size_t slots_here_ = 0;        // that its record waits for
  std::int64_t computed_before_ = kNotComputed;
  std::int64_t held_ = kNotComputed;  // computed before the next call, up to where began_ is
  std::vector<std::uint64_t> completed_;
  bool has_half_[2] = {false, false};  // of an exchange: it was sent, received
  std::uint64_t entered_ = 0;
  // Since when the rank computes.
  bool computes_ = false;
  bool has_ended_ = false;
  std::uint64_t began_ = 0;
  std::int64_t flushed_ = 0;
  std::uint64_t counted_ = 0, started_count_ = 0;

  SmallestNumbers requests_, open_files_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Operation>
      under_way_;  // by handle and OTF2's id
  std::unordered_map<std::uint64_t, Slot> slots_;
  std::unordered_map<std::size_t, Pending> pending_;
  std::unordered_map<std::uint32_t, std::uint64_t> positions_;  // of vector collectives, by comm

  std::vector<std::uint32_t> calls_;
  std::vector<std::int64_t> computed_;
  std::vector<std::uint64_t> begins_, ends_;
  std::pair<std::uint64_t, std::uint64_t> losses_[kMostOtf2Losses] = {};

  // The records, one behind the other, and a hash table of them.
  std::vector<std::uint64_t> all_words_;
  std::vector<std::size_t> record_ends_;
  std::vector<std::uint64_t> first_events_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> table_;  // number of a record plus 1, or 0
};

// Callbacks for OTF2's library, one per kind of event, by the name in the names of its functions.
// The user's data is the collector.
struct Otf2Callback {
  const char* name;
  std::uintptr_t address;
};
const std::vector<Otf2Callback>& otf2_callbacks();

}  // namespace tisim
