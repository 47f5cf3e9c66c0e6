// The calls of one rank in an OTF2 trace, collected while OTF2's library reads its events.
//
// The library is neither linked nor included: its driver passes it the addresses of the callbacks
// below. A program makes few different calls, many times. Each different call is stored once, as a
// record of its events, with the smallest free number for each request; the calls are numbers of
// records.
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

// Contents of a record: a kind and its fields. For their names and numbers see kRecordKinds.
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
  called_from,  // the node of the enclosing function, if any
  io_open,      // number of the file, its handle, and OTF2's mode and flags
  io_close,
  io_seek,    // number, and new position
  io_delete,  // OTF2's file
  io_access,  // number, handle, OTF2's mode and flags, bytes
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

// Events of the trace that no record contains.
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
constexpr std::size_t kMaxOtf2Losses = sizeof(kOtf2Losses) / sizeof(kOtf2Losses[0]);

// The definitions of the trace, by OTF2 number.
struct Otf2Definitions {
  std::vector<std::uint32_t> calls;          // regions that are MPI calls
  std::vector<std::uint32_t> exchanges;      // regions that are MPI_Sendrecv
  std::vector<std::uint32_t> ends;           // regions that are MPI_Finalize
  std::vector<std::uint32_t> communicators;  // known ones
  std::vector<std::uint32_t> collectives;    // operations with a line
  std::vector<std::uint32_t> vectors;        // operations with per-rank sizes
  std::vector<std::uint32_t> handles;        // of files; if empty, accesses are lost
  std::vector<std::uint32_t> files;          // with names
  std::int64_t metric = -1;                  // of the counter that gives the volumes
  std::uint32_t metric_place = 0;
  bool keeps_times = false;
};

// Assigns each key the smallest free number: for pending requests and open files.
class SmallestNumbers {
 public:
  std::uint64_t assign(std::uint64_t key);
  // The number of a key; kNoNumber if it has none.
  std::uint64_t find(std::uint64_t key) const;
  // The same, and frees the number.
  std::uint64_t release(std::uint64_t key);

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free_;
};

class Otf2Calls {
 public:
  // Value for the computation before a call if the rank did not compute.
  static constexpr std::int64_t kNotComputed = std::numeric_limits<std::int64_t>::min();

  explicit Otf2Calls(const Otf2Definitions& definitions);

  // The events, in order.
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
  // Events of files. An operation inside another one, such as the POSIX writes that implement one
  // of MPI-IO, is part of that operation.
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

  // Call when all events have been read.
  void finish();

  // For each call the number of its record, and the ticks (or counter difference) before it.
  const std::vector<std::uint32_t>& calls() const { return calls_; }
  const std::vector<std::int64_t>& computed() const { return computed_; }
  // Begin and end of each call, if kept; 0 for events outside of calls.
  const std::vector<std::uint64_t>& begins() const { return begins_; }
  const std::vector<std::uint64_t>& ends() const { return ends_; }
  bool has_ended() const { return has_ended_; }
  // The call paths that records refer to.
  const CallTree& call_tree() const { return functions_; }
  // True if memory ran out.
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  std::uint64_t events() const { return event_; }

  std::size_t records() const { return first_events_.size(); }
  std::vector<std::uint64_t> record(std::size_t number) const;
  // Number of the event with which the first call of a record begins.
  std::uint64_t first_event(std::size_t record) const { return first_events_[record]; }
  // Number of losses, and the number of the first event.
  std::pair<std::uint64_t, std::uint64_t> loss(Otf2Loss kind) const {
    return losses_[static_cast<std::size_t>(kind)];
  }

  // Volumes computed before the first line of each call (negative: none) and after the last one.
  // `lines`: number of lines of each record. A volume is `computed` / `per_second` * `speed`,
  // rounded; the computation before a call without lines counts for the next call.
  std::vector<std::int64_t> volumes(const std::vector<std::uint32_t>& lines, double per_second,
                                    double speed) const;

 private:
  // The place in a record to fill in when a posted request completes.
  struct Slot {
    std::size_t call;
    std::size_t word;
  };
  struct Pending {
    std::vector<std::uint64_t> words;
    std::uint64_t event;
    std::size_t slots;
  };

  // A read, write or flush of a file in progress.
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
  CallTree functions_;  // without MPI calls, around the outermost MPI call
  // The MPI regions around this event, outermost first.
  std::vector<std::uint32_t> open_;
  std::vector<std::uint64_t> words_;  // of the current call
  std::uint64_t first_event_ = 0;     // of the current call
  std::size_t open_slots_ = 0;        // still to be filled in its record
  std::int64_t computed_before_ = kNotComputed;
  std::int64_t held_ = kNotComputed;  // computed before the next call, up to began_
  std::vector<std::uint64_t> completed_;
  bool has_half_[2] = {false, false};  // of an exchange: sent, received
  std::uint64_t entered_ = 0;
  // State of the current computation.
  bool computes_ = false;
  bool has_ended_ = false;
  std::uint64_t began_ = 0;
  std::int64_t flushed_ = 0;
  std::uint64_t counted_ = 0, started_count_ = 0;

  SmallestNumbers requests_, open_files_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Operation>
      in_progress_;  // by handle and OTF2's id
  std::unordered_map<std::uint64_t, Slot> slots_;
  std::unordered_map<std::size_t, Pending> pending_;
  std::unordered_map<std::uint32_t, std::uint64_t> positions_;  // of vector collectives, by comm

  std::vector<std::uint32_t> calls_;
  std::vector<std::int64_t> computed_;
  std::vector<std::uint64_t> begins_, ends_;
  std::pair<std::uint64_t, std::uint64_t> losses_[kMaxOtf2Losses] = {};

  // The records, concatenated, and a hash table of them.
  std::vector<std::uint64_t> all_words_;
  std::vector<std::size_t> record_ends_;
  std::vector<std::uint64_t> first_events_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> table_;  // number of a record plus 1, or 0
};

// Callbacks for OTF2's library, one per kind of event, named as in its function names. The user
// data is the collector.
struct Otf2Callback {
  const char* name;
  std::uintptr_t address;
};
const std::vector<Otf2Callback>& otf2_callbacks();

}  // namespace tisim
