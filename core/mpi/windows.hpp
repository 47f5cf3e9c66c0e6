// One-sided communication: windows and accesses to them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/communicators.hpp"
#include "mpi/completion.hpp"
#include "mpi/operation_source.hpp"
#include "mpi/point_to_point.hpp"
#include "mpi/request_table.hpp"
#include "mpi/runtime.hpp"
#include "trace/vocabulary/epochs.hpp"

namespace tisim {

// A call is a short program of steps, which resumes where it stopped when its rank is woken.
//
// Following SimGrid (smpi_win.cpp), an access is a message that its origin posts for both sides, on
// behalf of the target. It is complete when a rank has waited for it: the target in a fence or
// win_wait, the origin in a flush. Each rank has a list of accesses to wait for; a rank that adds
// to a list or waits for its entries locks it, and other ranks wait.
//
// With smpi/rma:rdma the network moves the data without CPU time: an access is one transfer that
// only its origin waits for. With openmpi and mpich, locks are messages too, and the target must
// read messages sent to it (docs/reference/one_sided.md).
class Windows {
 public:
  Windows(const Runtime& runtime, CommunicatorTable& communicators, RequestTable& requests,
          PointToPoint& messages, Waits& waits, OperationSource& source);
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  bool begin(Rank& rank, std::int32_t index);
  // Continues the call of a woken rank.
  bool resume(Rank& rank, std::int32_t index);

  // Describes for error messages the wait of a rank in a call: "the lock of ...".
  std::string wait_of(const Rank& rank, std::int32_t index) const;

  // Throws BrokenInvariant.
  void verify() const;

 private:
  // Sizes of a library's lock messages; 0: locks are not messages.
  struct LockMessages {
    std::int64_t bytes = 0;
    std::int64_t headers = 0;       // before stored data
    bool answers_accesses = false;  // before the unlock request
  };
  static LockMessages lock_messages(const std::string& rma);
  enum class Step : std::uint8_t {
    send,          // a message from member a to member b
    lock_message,  // the same, about a lock
    receive,       // posts its receive
    enter,         // locks the list of member a
    leave,         //
    list,          // adds the message to the list of member a
    request,       // or makes it the request of the call
    request_done,  // adds a completed request
    await,         // or waits for the message at once
    collect,       // waits for the list of member a: messages from or to b (-1: all)
    lock,          // member a, exclusively if b is 1
    unlock,        //
    enter_atomic,
    leave_atomic,
    send_sync,     // an empty message to member a
    receive_sync,  // an empty message from member a
    wait_sync,     // waits for the last a of these
    free           // the rank has freed the window
  };
  struct PlannedStep {
    Step step;
    std::int32_t a = 0, b = 0;
  };
  // A FIFO mutex of ranks.
  struct Mutex {
    std::int32_t holder = -1;
    std::deque<std::int32_t> waiting;
  };
  struct Lock {
    std::vector<std::int32_t> holders;
    bool exclusive = false;
    std::deque<std::pair<std::int32_t, bool>> waiting;  // ranks, and whether exclusively
  };
  struct Listed {
    std::int32_t request = 0, source = 0, destination = 0;  // members
    bool combines = false;
  };
  struct Member {
    std::vector<Listed> list;
    Mutex holding;
    Mutex atomic;
    Lock lock;
  };
  struct Window {
    std::vector<std::int32_t> ranks;         // global ranks
    std::map<std::int32_t, Member> members;  // members used so far
    std::int32_t left = 0;                   // ranks that have not freed it yet
    std::int32_t context = 0;
  };
  // A rank's view of the window with a given number.
  struct View {
    Epochs epochs;
    std::int32_t window = -1;
    std::int32_t me = 0;
  };
  // A rank's current call.
  struct Progress {
    std::vector<PlannedStep> steps;
    std::size_t next = 0;
    std::int32_t window = 0;
    std::int32_t me = 0;
    std::int32_t tag = 0;  // tag of its operation
    std::int64_t bytes = 0;
    double due = 0;  // pending cost of combined data, seconds
    // The last send
    std::int32_t message = -1;
    std::int32_t source = 0, destination = 0;  // members
    bool paid = false;          // whether the overhead of the next send has been paid
    bool has_inserted = false;  // whether operations were inserted before the next step
    // Number of times that ready ranks run first: SimGrid's actors yield at each kernel call, which
    // decides which rank gets a list that several request at the same instant.
    std::int32_t yields = 0;
  };

  void make(Rank& rank, View& view);
  void plan(const Op& op, const Epochs& epochs, const std::vector<std::int32_t>& group,
            std::int32_t size, Progress& call) const;
  void plan_access(const WindowTraits& traits, const Op& op, Progress& call) const;
  void plan_flush(std::int32_t target, Progress& call) const;
  void plan_collect(std::int32_t owner, std::int32_t other, Progress& call) const;
  // Plans a message about a lock, which the rank waits for.
  static void plan_lock_message(std::int32_t source, std::int32_t destination, Progress& call);
  // Completes the accesses to a target, which acknowledges them; `unlocks`: also releases its lock.
  void plan_completion(std::int32_t target, bool unlocks, Progress& call) const;
  bool take(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step);
  bool send(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step);
  bool collect(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step,
               Member& member);
  bool synchronise(Rank& rank, std::int32_t index, Progress& call, const PlannedStep& step);
  bool wait_for_synchronised(Rank& rank, std::int32_t index, Progress& call, std::int32_t messages);
  bool wait_for_awaited(Rank& rank, std::int32_t index, Progress& call);
  static void insert_rest(Rank& rank, Progress& call);
  static bool enter(std::int32_t index, Mutex& mutex);
  bool yield(Rank& rank, std::int32_t index) const;
  void leave(Mutex& mutex) const;
  static bool take_lock(Rank& rank, std::int32_t index, Lock& lock, bool exclusive);
  bool release_lock(std::int32_t index, Lock& lock) const;

  Runtime runtime_;
  CommunicatorTable& communicators_;
  RequestTable& requests_;
  PointToPoint& messages_;
  Waits& waits_;
  OperationSource& source_;
  bool rdma_;
  LockMessages lock_messages_;
  bool locks_by_message_;
  std::deque<Window> windows_;
  std::vector<std::int32_t> free_;  // free indices of `windows_`
  std::unordered_map<std::int32_t, std::map<std::int32_t, View>> views_;  // by rank and number
  std::unordered_map<std::int32_t, Progress> calls_;                      // by rank
  // Key: context of the communicator, and number of windows the rank has made on it. Value: the
  // index of a window that not all ranks have made yet, and the number of missing ranks.
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int32_t, std::int32_t>> made_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> counts_;  // by rank and context
};

}  // namespace tisim
