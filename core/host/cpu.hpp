// Computations that share the cores of a host (SimGrid's Cas01 model).
//
// Each computation gets at most the speed of one core; all on a host share cores * speed equally.
// As all of them run at the same rate, a host has one virtual clock, in flops.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/agenda.hpp"
#include "platform/routes.hpp"
#include "support/short_list.hpp"
#include "support/stack.hpp"

namespace tisim {

class Cpu {
 public:
  Cpu(const PlatformData& platform, double precision, Agenda& agenda);

  // `owner` is told of the end.
  void start(std::int32_t host, double flops, std::int32_t owner, double now);

  // Dates the ends anew, after all changes of an instant.
  void settle(double now);
  bool is_settled() const { return stale_.empty(); }

  // Appends the owners of the computations of `host` that end at `now` (or within the precision).
  void collect_ended(std::int32_t host, double now, Stack<std::int32_t>& owners);

  // From now on a core does `fraction` of its speed; `settle` follows.
  void set_fraction(std::int32_t host, double fraction, double now);

  // Takes the computation of an owner out; nobody is told. False: there is none.
  bool drop(std::int32_t host, std::int32_t owner, double now);

  // Appends the owners of the computations of a host.
  void list_owners(std::int32_t host, std::vector<std::int32_t>& owners) const;

  // Appends the hosts that compute without any speed.
  void list_starving(std::vector<std::int32_t>& hosts) const;

  // Of a core, flop/s, as the platform says.
  double speed(std::int32_t host) const {
    return platform_.host_speed[static_cast<std::size_t>(host)];
  }

 private:
  struct Running {
    double finish;
    std::uint32_t order;
    std::int32_t owner;
  };
  struct Host {
    double speed = 0.0;          // flop/s of a core now
    double clock = 0.0;          // flops
    double updated = 0.0;        // seconds
    double rate = 0.0;           // flop/s that each computation gets
    ShortList<Running> running;  // a heap on (finish, order)
  };
  static_assert(sizeof(Host) == 56);  // there may be a million of them

  // Of computations that end together the one that began last goes first: SimGrid dates those of a
  // host from the newest to the oldest.
  static bool later(const Running& a, const Running& b) {
    return a.finish > b.finish || (a.finish == b.finish && a.order < b.order);
  }
  static void advance_clock(Host& host, double now);
  void touch(std::int32_t index);
  void date_end(std::int32_t index, double now);

  const PlatformData& platform_;
  std::vector<Host> hosts_;
  std::vector<bool> is_stale_;  // of each host: its next end must be dated anew
  Stack<std::int32_t> stale_;   // those hosts
  double precision_;
  Agenda& agenda_;
  std::uint32_t order_ = 0;
};

}  // namespace tisim
