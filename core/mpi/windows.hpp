// One-sided communication: windows, and what their ranks access.
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

// A call is a short program of steps, which goes on where it stopped when its rank is woken.
//
// As SimGrid has it (smpi_win.cpp), an access is a message that its origin both sends and receives,
// in the name of the target: it is complete when a rank has waited for it, the target in a fence or
// win_wait, the origin in a flush. Each rank keeps a list of what is to be waited for; whoever
// enters in it or waits for what stands in it holds the list, and others wait for him.
//
// With smpi/rma:rdma the network moves the data, and nobody computes for it: an access is one
// transfer that its origin alone waits for. With openmpi and mpich locks are messages, too, and the
// target has to read what is sent to it (docs/reference/one_sided.md).
class Windows {
 public:
  Windows(const Runtime& runtime, CommunicatorTable& communicators, RequestTable& requests,
          PointToPoint& messages, Waits& waits, OperationSource& source);
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  bool begin(Rank& rank, std::int32_t index);
  // The rank is woken: the call goes on.
  bool go_on(Rank& rank, std::int32_t index);

  // The object of a rank's wait in a call, in the words of a message: "the lock of ...".
  std::string wait_of(const Rank& rank, std::int32_t index) const;

  // Throws BrokenInvariant.
  void verify() const;

 private:
  // What a library sends about locks, in bytes; none: locks are not messages.
  struct LockMessages {
    std::int64_t bytes = 0;
    std::int64_t headers = 0;       // before what is stored
    bool answers_accesses = false;  // before the request to unlock
  };
  static LockMessages lock_messages(const std::string& rma);
  enum class Step : std::uint8_t {
    send,          // a message from member a to member b
    lock_message,  // the same, about a lock
    receive,       // its receive is posted
    enter,         // holds the list of member a
    leave,         //
    list,          // the message is in the list of member a
    request,       // or is the request of the call
    request_done,  // a request that is complete
    await,         // or is waited for at once
    collect,       // waits for what is in the list of member a, of messages from or to b (-1: all)
    lock,          // member a, exclusively if b is 1
    unlock,        //
    enter_atomic,
    leave_atomic,
    send_sync,     // a message of no bytes to member a
    receive_sync,  // the same from member a
    wait_sync,     // for the last a of these
    free           // the rank is done with the window
  };
  struct StepOf {
    Step step;
    std::int32_t a = 0, b = 0;
  };
  // Whom ranks wait for to do something one after the other.
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
    std::vector<std::int32_t> ranks;         // of the simulation
    std::map<std::int32_t, Member> members;  // those that anything was done with
    std::int32_t left = 0;                   // ranks that have not freed it
    std::int32_t context = 0;
  };
  // The window of a number on a rank.
  struct View {
    Epochs epochs;
    std::int32_t window = -1;
    std::int32_t me = 0;
  };
  // The call that a rank is in.
  struct Progress {
    std::vector<StepOf> steps;
    std::size_t next = 0;
    std::int32_t window = 0;
    std::int32_t me = 0;
    std::int32_t tag = 0;  // of its operation
    std::int64_t bytes = 0;
    double due = 0;  // seconds that it pays for what it has combined
    // The last send
    std::int32_t message = -1;
    std::int32_t source = 0, destination = 0;  // members
    bool paid = false;                         // the overhead of the send that is next
    bool has_inserted = false;                 // operations that come before the next step
    // So often others who are ready go on first: SimGrid's actors take turns at each call of its
    // kernel, which decides who holds a list that several ranks want at one instant.
    std::int32_t turns = 0;
  };

  void make(Rank& rank, View& view);
  void plan(const Op& op, const Epochs& epochs, const std::vector<std::int32_t>& group,
            std::int32_t size, Progress& call) const;
  void plan_access(const WindowTraits& traits, const Op& op, Progress& call) const;
  void plan_flush(std::int32_t target, Progress& call) const;
  void plan_collect(std::int32_t owner, std::int32_t other, Progress& call) const;
  // A message about a lock, which the rank waits for.
  static void plan_lock_message(std::int32_t source, std::int32_t destination, Progress& call);
  // Completes the accesses to a target, which acknowledges them; `unlocks`: and releases its lock.
  void plan_completion(std::int32_t target, bool unlocks, Progress& call) const;
  bool take(Rank& rank, std::int32_t index, Progress& call, const StepOf& step);
  bool send(Rank& rank, std::int32_t index, Progress& call, const StepOf& step);
  bool collect(Rank& rank, std::int32_t index, Progress& call, const StepOf& step, Member& member);
  bool synchronise(Rank& rank, std::int32_t index, Progress& call, const StepOf& step);
  bool wait_for_synchronised(Rank& rank, std::int32_t index, Progress& call, std::int32_t messages);
  bool wait_for_awaited(Rank& rank, std::int32_t index, Progress& call);
  static void insert_rest(Rank& rank, Progress& call);
  static bool enter(std::int32_t index, Mutex& mutex);
  bool go_behind(Rank& rank, std::int32_t index) const;
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
  std::vector<std::int32_t> free_;                                        // places in it
  std::unordered_map<std::int32_t, std::map<std::int32_t, View>> views_;  // by rank and number
  std::unordered_map<std::int32_t, Progress> calls_;                      // by rank
  // By the communicator's context and how many windows the rank has made on it: the place of those
  // that not all ranks have made yet, and how many have not.
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int32_t, std::int32_t>> made_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> counts_;  // by rank and context
};

}  // namespace tisim
