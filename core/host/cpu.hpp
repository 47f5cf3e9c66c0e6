// Computations that share the cores of a host (SimGrid's Cas01 model).
//
// Each computation gets at most the speed of one core; all on a host share cores * speed equally,
// or what its memory allows where that is less (tisim/models/processors.py has the equation).
// As all of them run at the same rate, a host has one virtual clock, in flops
// (resource/shared_resources.hpp). Probes may use less than a core (smpi/iprobe-cpu-usage): they
// are then further resources, with a clock of their own, behind those of the hosts.
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
  // `probe_share`: of a core, the most that a probe uses.
  Cpu(const PlatformData& platform, double precision, Agenda& agenda, double probe_share = 1.0)
      : platform_(platform),
        busy_cores_(busy_cores(platform)),
        probe_share_(probe_share),
        hosts_(speeds(platform, probe_share), precision, {*this, agenda}) {}
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // Events of the agenda that are those of probes, behind those of all resources of the platform.
  static std::size_t probe_events(const PlatformData& platform, double probe_share) {
    return probe_share < 1 ? platform.host_speed.size() : 0;
  }

  // `owner` is told of the end.
  void start(std::int32_t host, double flops, std::int32_t owner, double now) {
    hosts_.start(host, flops, owner, now);
    if (probe_share_ < 1) hosts_.disturb(hosts() + host, now);
  }
  // The same of a probe.
  void start_probe(std::int32_t host, double flops, std::int32_t owner, double now) {
    if (probe_share_ >= 1) return start(host, flops, owner, now);
    hosts_.start(hosts() + host, flops, owner, now);
    hosts_.disturb(host, now);
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

  // Appends the owners of the computations of an event that end at `now` (or within the precision).
  void collect_ended(std::int32_t event, double now, Stack<std::int32_t>& owners) {
    const std::size_t before = owners.size();
    hosts_.collect_ended(resource_of(event), now, owners);
    if (threads_ != 0) leave_out_threads(owners, before);
    if (probe_share_ < 1) hosts_.disturb(beside(resource_of(event)), now);
  }

  // From now on a core does `fraction` of its speed; `settle` follows.
  void set_fraction(std::int32_t host, double fraction, double now) {
    hosts_.set_capacity(host, fraction * speed(host), now);
    if (probe_share_ < 1) hosts_.set_capacity(hosts() + host, fraction * speed(host), now);
  }

  // Takes the computation of an owner out; nobody is told. False: there is none.
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

  // Calls f(owner, seconds) for each computation of an event, further threads included: when it
  // ends as things are, counted from `now`.
  template <class F>
  void for_each_end(std::int32_t event, double now, F f) const {
    hosts_.for_each_end(resource_of(event), now, f);
  }

  // Appends the hosts that compute without any speed.
  void list_starving(std::vector<std::int32_t>& starving) const {
    hosts_.list_starved(starving);
    for (std::int32_t& resource : starving) resource = host_of(resource);
  }

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

  // A resource is a host, or the probes on it; its capacity is the speed of one core.
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

  // Where probes use less than a core they leave the rest to the computations.
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
  // The events of disks are in between.
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
  std::int64_t threads_ = 0;  // further ones that run
};

}  // namespace tisim
