// A clock that counts what each of the actions that share a resource has done.
//
// All actions progress at one common *rate*, so that a change of the rate costs nothing for each
// action: an action that starts is given the reading of the clock at which it ends, and the order
// in which actions end does not depend on the rate.
#pragma once

#include <limits>

#ifdef TISIM_VERIFY
#include "support/invariant.hpp"
#endif

namespace tisim {

struct VirtualClock {
  double done = 0.0;     // units of work of each action, since the resource was idle
  double updated = 0.0;  // seconds, when that was right

  // Moves the clock on to `now`, at the rate of the time since then.
  void advance(double rate, double now) {
#ifdef TISIM_VERIFY
    ensure(now >= updated && rate * (now - updated) >= 0, "a virtual clock goes back");
#endif
    done += rate * (now - updated);
    updated = now;
  }

  // Begins anew, when no action is there.
  void restart(double now) {
    done = 0.0;
    updated = now;
  }

  // When it reads `finish` at a rate from now on: `now` if it does already, infinity if it never
  // does. The clock may be older than `now` while its rate has not changed: dates are absolute.
  double date_of(double finish, double rate, double now) const {
    const double left = finish - done;
    if (left <= 0) return now;
    return rate > 0 ? updated + left / rate : std::numeric_limits<double>::infinity();
  }

  // Seconds from `now` on until it reads `finish`, at the rate that it has had since `updated`.
  double seconds_to(double finish, double rate, double now) const {
    return (finish - done) / rate - (now - updated);
  }
};

}  // namespace tisim
