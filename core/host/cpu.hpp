// Computations that share the cores of a host (SimGrid's Cas01 model).
//
// Each computation gets at most the speed of one core; all on a host share cores * speed equally,
// or what its memory allows where that is less (tisim/models/processors.py has the equation).
// As all of them run at the same rate, a host has one virtual clock, in flops
// (resource/shared_resources.hpp).
//
// The class promises: after `settle`, the agenda has the next end of a computation of every host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "clock/agenda.hpp"
#include "platform/routes.hpp"
#include "resource/shared_resources.hpp"
#include "support/stack.hpp"

namespace tisim {

class Cpu {
 public:
  Cpu(const PlatformData& platform, double precision, Agenda& agenda)
      : platform_(platform),
        busy_cores_(busy_cores(platform)),
        hosts_(platform.host_speed, precision, {busy_cores_, agenda}) {}
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // `owner` is told of the end.
  void start(std::int32_t host, double flops, std::int32_t owner, double now) {
    hosts_.start(host, flops, owner, now);
  }

  // On how many cores of a host so many threads can run.
  std::int32_t cores(std::int32_t host, std::int32_t threads) const {
    return std::min(threads, platform_.host_cores[static_cast<std::size_t>(host)]);
  }
  // Further threads of a computation that has just been started: each takes a share of the cores as
  // the computation does, and ends with it. Of their ends nobody is told.
  void add_threads(std::int32_t host, double flops, std::int32_t owner, std::int32_t threads,
                   double now) {
    for (std::int32_t i = 0; i < threads; ++i) {
      hosts_.start(host, flops, kFirstThread + owner, now);
    }
    threads_ += threads;
  }

  // Dates the ends anew, after all changes of an instant.
  void settle(double now) { hosts_.settle(now); }
  bool is_settled() const { return hosts_.is_settled(); }

  // Appends the owners of the computations of `host` that end at `now` (or within the precision).
  void collect_ended(std::int32_t host, double now, Stack<std::int32_t>& owners) {
    const std::size_t before = owners.size();
    hosts_.collect_ended(host, now, owners);
    if (threads_ != 0) leave_out_threads(owners, before);
  }

  // From now on a core does `fraction` of its speed; `settle` follows.
  void set_fraction(std::int32_t host, double fraction, double now) {
    hosts_.set_capacity(host, fraction * speed(host), now);
  }

  // Takes the computation of an owner out; nobody is told. False: there is none.
  bool drop(std::int32_t host, std::int32_t owner, double now) {
    if (!hosts_.drop(host, owner, now)) return false;
    while (threads_ != 0 && owner >= 0 && hosts_.drop(host, kFirstThread + owner, now)) --threads_;
    return true;
  }

  // Appends the owners of the computations of a host.
  void list_owners(std::int32_t host, std::vector<std::int32_t>& owners) const {
    hosts_.list_owners(host, owners);
  }

  // Calls f(owner, seconds) for each computation of a host, further threads included: when it ends
  // as things are, counted from `now`.
  template <class F>
  void for_each_end(std::int32_t host, double now, F f) const {
    hosts_.for_each_end(host, now, f);
  }

  // Appends the hosts that compute without any speed.
  void list_starving(std::vector<std::int32_t>& hosts) const { hosts_.list_starved(hosts); }

  // Nominal speed of a core, flop/s.
  double speed(std::int32_t host) const {
    return platform_.host_speed[static_cast<std::size_t>(host)];
  }

  // Throws BrokenInvariant where computations are out of order or late. To be called when
  // everything is settled.
  void verify(double now) const { hosts_.verify(now); }

 private:
  // Owners from here on, far below those of activities, are the further threads of ranks.
  static constexpr std::int32_t kFirstThread = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kLastThread = kFirstThread / 2;

  void leave_out_threads(Stack<std::int32_t>& owners, std::size_t before) {
    std::size_t kept = before;
    for (std::size_t i = before; i < owners.size(); ++i) {
      if (owners[i] > kLastThread) {
        owners[kept++] = owners[i];
      } else {
        --threads_;
      }
    }
    owners.resize(kept, {});
  }

  // How many cores of each host its memory can keep busy.
  static std::vector<double> busy_cores(const PlatformData& platform) {
    std::vector<double> all(platform.host_cores.begin(), platform.host_cores.end());
    for (std::size_t host = 0; host < platform.host_memory.size(); ++host) {
      all[host] = std::min(all[host], platform.host_memory[host] / platform.host_speed[host]);
    }
    return all;
  }

  // The capacity of a host is the speed of one core.
  struct Cores {
    const std::vector<double>& busy_cores;
    Agenda& agenda;

    double rate(std::int32_t host, double speed, std::size_t computations) const {
      const double all = speed * busy_cores[static_cast<std::size_t>(host)];
      return std::min(speed, all / static_cast<double>(computations));
    }
    void set_end(std::int32_t host, double date) { agenda.update(date, EventType::cpu, host); }
    void remove_end(std::int32_t host) { agenda.remove(EventType::cpu, host); }
  };

  const PlatformData& platform_;
  const std::vector<double> busy_cores_;
  SharedResources<Cores> hosts_;
  std::int64_t threads_ = 0;  // further ones that run
};

}  // namespace tisim
