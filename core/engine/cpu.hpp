// Computations that share the cores of a host (SimGrid's Cas01 model).
//
// Each computation gets at most the speed of one core; all on a host share cores * speed equally.
// As all of them run at the same rate, a host has one virtual clock, in flops.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/agenda.hpp"
#include "engine/routes.hpp"

namespace tisim {

class Cpu {
 public:
  Cpu(const PlatformData& platform, double precision, Agenda& agenda);

  // `owner` is told of the end.
  void start(std::int32_t host, double flops, std::int32_t owner, double now);

  // Dates the ends anew, after all changes of an instant.
  void settle(double now);

  // Appends the owners of the computations of `host` that end at `now` (or within the precision).
  void collect_ended(std::int32_t host, double now, std::vector<std::int32_t>& owners);

  double speed(std::int32_t host) const { return hosts_[static_cast<std::size_t>(host)].speed; }

 private:
  struct Running {
    double finish;
    std::uint32_t order;
    std::int32_t owner;
  };
  struct Host {
    double speed = 0.0;
    double capacity = 0.0;         // cores * speed
    double clock = 0.0;            // flops
    double updated = 0.0;          // seconds
    double rate = 0.0;             // flop/s that each computation gets
    bool stale = false;            // its next end must be dated anew
    std::vector<Running> running;  // a heap on (finish, order)
  };

  // Of computations that end together the one that began last goes first: SimGrid dates those of a
  // host from the newest to the oldest.
  static bool later(const Running& a, const Running& b) {
    return a.finish > b.finish || (a.finish == b.finish && a.order < b.order);
  }
  static void advance_clock(Host& host, double now);
  void touch(std::int32_t index);
  void date_end(std::int32_t index, double now);

  std::vector<Host> hosts_;
  std::vector<std::int32_t> stale_;
  double precision_;
  Agenda& agenda_;
  std::uint32_t order_ = 0;
};

}  // namespace tisim
