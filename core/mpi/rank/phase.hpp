// What a rank is doing: which part of its operation follows when it is woken.
#pragma once

#include <cstdint>

namespace tisim {

enum class Phase : std::uint8_t {
  idle,                  // driven from outside, nothing to do
  between_operations,    // the next one comes from its trace or schedule
  posted,                // an operation came from outside
  initialising,          // the time that MPI_Init takes
  computing,             //
  sleeping,              //
  send_overhead,         // before a send is posted
  waiting,               // for one message
  receive_overhead,      // after a receive
  waiting_all,           // for all awaited requests; none of those left is complete
  completing_all,        // one of them is complete, or its overhead is paid
  testing,               // the time that a test takes
  tested,                // its answer comes after those of the same instant
  waiting_any,           // for one of the awaited requests
  completing_any,        // that one is complete
  probing,               // the time that a probe takes
  probed,                // its answer comes after those of the same instant
  waiting_for_any_send,  // a probe that takes no time: until a message is sent to the rank
  synchronising,         // waits for the others before a collective
  needs_schedule,        // Python is asked for the schedule of a collective
  needs_route,           // Python is asked for a route, the send is posted again afterwards
  needs_disk,            // Python is asked which disk holds a file, which is then opened
  needs_server,          // Python is asked for a route to a server of a file system
  accessing,             // reads from a disk or writes to it, or waits for a file system
  custom,                // Python carries out an action
  finished,              //
  not_started,           // starts later
  dying,                 // killed at this instant
  dead                   // killed before
};

}  // namespace tisim
