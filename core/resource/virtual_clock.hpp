// A clock that counts the progress of each of the actions that share a resource.
//
// All actions progress at one common *rate*, so a change of the rate costs nothing per action: an
// action that starts is assigned the clock reading at which it ends, and the order of the ends does
// not depend on the rate.
#pragma once

#include <limits>

#ifdef TISIM_VERIFY
#include "support/invariant.hpp"
#endif

namespace tisim {

struct VirtualClock {
  double done = 0.0;     // work done by each action since the resource was idle
  double updated = 0.0;  // date of `done`, seconds

  // Advances the clock to `now`, at the rate since `updated`.
  void advance(double rate, double now) {
#ifdef TISIM_VERIFY
    ensure(now >= updated && rate * (now - updated) >= 0, "a virtual clock never goes back");
#endif
    done += rate * (now - updated);
    updated = now;
  }

  // Restarts the clock of a resource without actions.
  void restart(double now) {
    done = 0.0;
    updated = now;
  }

  // Returns the date at which it reads `finish` at a rate: `now` if it already does, infinity if it
  // never does. `updated` may be before `now` if the rate has not changed since: dates are
  // absolute.
  double date_of(double finish, double rate, double now) const {
    const double left = finish - done;
    if (left <= 0) return now;
    return rate > 0 ? updated + left / rate : std::numeric_limits<double>::infinity();
  }

  // Seconds from `now` until it reads `finish`, at the rate since `updated`.
  double seconds_to(double finish, double rate, double now) const {
    return (finish - done) / rate - (now - updated);
  }
};

}  // namespace tisim
