// Computations that share the cores of a host (SimGrid's Cas01 model).
//
// Each computation gets at most the speed of one core; all computations on a host share cores *
// speed equally, or the throughput of its memory where that is lower (equation in
// tisim/models/processors.py). As they all run at the same rate, a host has one virtual clock, in
// flops (resource/shared_resources.hpp). Probes may use less than a core (smpi/iprobe-cpu-usage):
// they are then separate resources with their own clock, indexed after those of the hosts.
//
// Invariant: after `settle`, the agenda contains the next end of a computation of every host.
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
  // `probe_share`: maximum fraction of a core that a probe uses.
  Cpu(const PlatformData& platform, double precision, Agenda& agenda, double probe_share = 1.0)
      : platform_(platform),
        busy_cores_(busy_cores(platform)),
        probe_share_(probe_share),
        hosts_(speeds(platform, probe_share), precision, {*this, agenda}) {}
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // Number of agenda events of probes, numbered after those of all resources of the platform.
  static std::size_t probe_events(const PlatformData& platform, double probe_share) {
    return probe_share < 1 ? platform.host_speed.size() : 0;
  }

  // `owner` is notified of the end.
  void start(std::int32_t host, double flops, std::int32_t owner, double now) {
    hosts_.start(host, flops, owner, now);
    if (probe_share_ < 1) hosts_.disturb(hosts() + host, now);
  }
  // Starts a probe.
  void start_probe(std::int32_t host, double flops, std::int32_t owner, double now) {
    if (probe_share_ >= 1) return start(host, flops, owner, now);
    hosts_.start(hosts() + host, flops, owner, now);
    hosts_.disturb(host, now);
  }

  // Number of cores of a host that run this many threads.
  std::int32_t cores(std::int32_t host, std::int32_t threads) const {
    return std::min(threads, platform_.host_cores[static_cast<std::size_t>(host)]);
  }
  // Adds threads to a computation just started: each takes a share of the cores like the
  // computation and ends with it. Their ends are not reported.
  void add_threads(std::int32_t host, double flops, std::int32_t owner, std::int32_t threads,
                   double now) {
    for (std::int32_t i = 0; i < threads; ++i) {
      hosts_.start(host, flops, kFirstThread + owner, now);
    }
    threads_ += threads;
  }

  // Reschedules the ends, after all changes of an instant.
  void settle(double now) { hosts_.settle(now); }
  bool is_settled() const { return hosts_.is_settled(); }

  // Appends the owners of the event's computations that end at `now` (or within the precision).
  void collect_ended(std::int32_t event, double now, Stack<std::int32_t>& owners) {
    const std::size_t before = owners.size();
    hosts_.collect_ended(resource_of(event), now, owners);
    if (threads_ != 0) remove_threads(owners, before);
    if (probe_share_ < 1) hosts_.disturb(beside(resource_of(event)), now);
  }

  // Sets the speed of a core to `fraction` of the nominal speed; `settle` must follow.
  void set_fraction(std::int32_t host, double fraction, double now) {
    hosts_.set_capacity(host, fraction * speed(host), now);
    if (probe_share_ < 1) hosts_.set_capacity(hosts() + host, fraction * speed(host), now);
  }

  // Removes an owner's computation without notification. Returns false if it has none.
  bool drop(std::int32_t host, std::int32_t owner, double now) {
    if (hosts_.drop(host, owner, now)) {
      while (threads_ != 0 && owner >= 0 && hosts_.drop(host, kFirstThread + owner, now)) {
        --threads_;
      }
      if (probe_share_ < 1) hosts_.disturb(hosts() + host, now);
      return true;
    }
    if (probe_share_ >= 1 || !hosts_.drop(hosts() + host, owner, now)) return false;
    hosts_.disturb(host, now);
    return true;
  }

  // Appends the owners of the computations of a host.
  void list_owners(std::int32_t host, std::vector<std::int32_t>& owners) const {
    hosts_.list_owners(host, owners);
    if (probe_share_ < 1) hosts_.list_owners(hosts() + host, owners);
  }

  // Calls f(owner, seconds) for each computation of an event, including extra threads, with the
  // time from `now` to its end at current rates.
  template <class F>
  void for_each_end(std::int32_t event, double now, F f) const {
    hosts_.for_each_end(resource_of(event), now, f);
  }

  // Appends the hosts whose computations have zero rate.
  void list_starved(std::vector<std::int32_t>& starving) const {
    hosts_.list_starved(starving);
    for (std::int32_t& resource : starving) resource = host_of(resource);
  }

  // Nominal speed of a core, flop/s.
  double speed(std::int32_t host) const {
    return platform_.host_speed[static_cast<std::size_t>(host)];
  }

  // Throws BrokenInvariant if computations are out of order or overdue. Requires that everything is
  // settled.
  void verify(double now) const { hosts_.verify(now); }

 private:
  // Owners in this range, far below those of activities, are the extra threads of ranks.
  static constexpr std::int32_t kFirstThread = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kLastThread = kFirstThread / 2;

  void remove_threads(Stack<std::int32_t>& owners, std::size_t before) {
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

  // Number of cores of each host that its memory can keep busy.
  static std::vector<double> busy_cores(const PlatformData& platform) {
    std::vector<double> all(platform.host_cores.begin(), platform.host_cores.end());
    for (std::size_t host = 0; host < platform.host_memory.size(); ++host) {
      all[host] = std::min(all[host], platform.host_memory[host] / platform.host_speed[host]);
    }
    return all;
  }

  // A resource is a host, or its probes; the capacity is the speed of one core.
  struct Cores {
    Cpu& cpu;
    Agenda& agenda;

    double rate(std::int32_t resource, double speed, std::size_t computations) const {
      const auto host = static_cast<std::size_t>(cpu.host_of(resource));
      const double all = speed * cpu.busy_cores_[host];
      if (cpu.probe_share_ < 1) return cpu.rate(resource, speed, all, computations);
      return std::min(speed, all / static_cast<double>(computations));
    }
    void set_end(std::int32_t resource, double date) {
      agenda.update(date, EventType::cpu, cpu.event_of(resource));
    }
    void remove_end(std::int32_t resource) {
      agenda.remove(EventType::cpu, cpu.event_of(resource));
    }
  };

  // Computations get the capacity that probes, limited to less than a core, leave unused.
  double rate(std::int32_t resource, double speed, double all, std::size_t own) const {
    const std::size_t others = hosts_.actions(beside(resource));
    const double most = probe_share_ * this->speed(host_of(resource));
    const double probe = std::min({most, speed, all / static_cast<double>(own + others)});
    if (resource >= hosts()) return probe;
    const double left = all - static_cast<double>(others) * probe;
    return std::min(speed, left / static_cast<double>(own));
  }

  static std::vector<double> speeds(const PlatformData& platform, double probe_share) {
    std::vector<double> all = platform.host_speed;
    const std::size_t events = probe_events(platform, probe_share);
    all.insert(all.end(), platform.host_speed.begin(),
               platform.host_speed.begin() + static_cast<std::ptrdiff_t>(events));
    return all;
  }

  std::int32_t hosts() const { return static_cast<std::int32_t>(platform_.host_speed.size()); }
  std::int32_t channels() const {
    return static_cast<std::int32_t>(platform_.resources()) - hosts();
  }
  std::int32_t host_of(std::int32_t resource) const {
    return resource < hosts() ? resource : resource - hosts();
  }
  std::int32_t beside(std::int32_t resource) const {
    return resource < hosts() ? resource + hosts() : resource - hosts();
  }
  // Events of disks are numbered in between.
  std::int32_t event_of(std::int32_t resource) const {
    return resource < hosts() ? resource : resource + channels();
  }
  std::int32_t resource_of(std::int32_t event) const {
    return event < hosts() ? event : event - channels();
  }

  const PlatformData& platform_;
  const std::vector<double> busy_cores_;
  const double probe_share_;
  SharedResources<Cores> hosts_;
  std::int64_t threads_ = 0;  // extra threads running
};

}  // namespace tisim
