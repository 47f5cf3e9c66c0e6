// Computations that share the cores of a host (SimGrid's Cas01 model).
//
// Each computation gets at most the speed of one core; all on a host share cores * speed equally.
// As all of them run at the same rate, a host has one virtual clock, in flops
// (resource/shared_resources.hpp).
//
// The class promises: after `settle`, the agenda has the next end of a computation of every host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock/agenda.hpp"
#include "platform/routes.hpp"
#include "resource/shared_resources.hpp"
#include "support/stack.hpp"

namespace tisim {

class Cpu {
 public:
  Cpu(const PlatformData& platform, double precision, Agenda& agenda)
      : platform_(platform), hosts_(platform.host_speed, precision, {platform, agenda}) {}

  // `owner` is told of the end.
  void start(std::int32_t host, double flops, std::int32_t owner, double now) {
    hosts_.start(host, flops, owner, now);
  }

  // Dates the ends anew, after all changes of an instant.
  void settle(double now) { hosts_.settle(now); }
  bool is_settled() const { return hosts_.is_settled(); }

  // Appends the owners of the computations of `host` that end at `now` (or within the precision).
  void collect_ended(std::int32_t host, double now, Stack<std::int32_t>& owners) {
    hosts_.collect_ended(host, now, owners);
  }

  // From now on a core does `fraction` of its speed; `settle` follows.
  void set_fraction(std::int32_t host, double fraction, double now) {
    hosts_.set_capacity(host, fraction * speed(host), now);
  }

  // Takes the computation of an owner out; nobody is told. False: there is none.
  bool drop(std::int32_t host, std::int32_t owner, double now) {
    return hosts_.drop(host, owner, now);
  }

  // Appends the owners of the computations of a host.
  void list_owners(std::int32_t host, std::vector<std::int32_t>& owners) const {
    hosts_.list_owners(host, owners);
  }

  // Appends the hosts that compute without any speed.
  void list_starving(std::vector<std::int32_t>& hosts) const { hosts_.list_starved(hosts); }

  // Of a core, flop/s, as the platform says.
  double speed(std::int32_t host) const {
    return platform_.host_speed[static_cast<std::size_t>(host)];
  }

  // Throws BrokenInvariant where computations are out of order or late. To be called when
  // everything is settled.
  void verify(double now) const { hosts_.verify(now); }

 private:
  // The capacity of a host is the speed of one core.
  struct Cores {
    const PlatformData& platform;
    Agenda& agenda;

    double rate(std::int32_t host, double speed, std::size_t computations) const {
      const double all = speed * platform.host_cores[static_cast<std::size_t>(host)];
      return std::min(speed, all / static_cast<double>(computations));
    }
    void set_end(std::int32_t host, double date) { agenda.update_cpu(date, host); }
    void remove_end(std::int32_t host) { agenda.remove_cpu(host); }
  };

  const PlatformData& platform_;
  SharedResources<Cores> hosts_;
};

}  // namespace tisim
