// Changes of hosts and links while a simulation runs: profiles and failures.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "host/cpu.hpp"
#include "io/file/files.hpp"
#include "mpi/matcher.hpp"
#include "mpi/runtime.hpp"
#include "network/network.hpp"
#include "platform/profiles.hpp"
#include "platform/routes.hpp"
#include "transfer/activities.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

// Failures of hosts, links and ranks (ADR 15). A rank dies with its host. Transfers over a link
// that goes off, or to or from a rank that dies, are lost.
struct Death {
  std::int32_t rank = 0;
  double date = 0.0;      // seconds
  std::int32_t host = 0;  // that was turned off, -1: the rank was killed at a given time
};

class Failures {
 public:
  Failures(const Runtime& runtime, Transfers& transfers, Activities& activities,
           const Matcher& matcher, Files& files)
      : runtime_(runtime),
        transfers_(transfers),
        activities_(activities),
        matcher_(matcher),
        files_(files) {}

  void turn_link(std::int32_t link, bool on);
  void turn_host(std::int32_t host, bool on);
  // `host`: what the rank dies with, -1: nothing else. It is woken once more, to be closed.
  void kill(std::int32_t rank, std::int32_t host);

  // True if a rank that starts now would start on a host that is off.
  bool is_host_off(std::int32_t host) const { return transfers_.is_host_off(host); }
  const std::vector<Death>& deaths() const { return deaths_; }

  // Ranks that have died stay dead. Throws BrokenInvariant.
  void verify() const;

 private:
  void lose(const std::vector<std::int32_t>& owners, const Loss& loss);

  Runtime runtime_;
  Transfers& transfers_;
  Activities& activities_;
  const Matcher& matcher_;
  Files& files_;
  std::vector<Death> deaths_;
};

// Applies what changes while a simulation runs: the profiles of hosts and links, and ranks that are
// killed at a date.
class PlatformChanges {
 public:
  PlatformChanges(const PlatformData& platform, Clock& clock, Cpu& cpu, Network& network,
                  Transfers& transfers, Failures& failures);
  PlatformChanges(const PlatformChanges&) = delete;
  PlatformChanges& operator=(const PlatformChanges&) = delete;

  // The rank dies at a date, if it has not finished before.
  void kill_at(std::int32_t rank, double date);
  // When something happens that moves the clock: at `date`, or earlier, when something changes.
  // Changes alone do not keep a simulation going that runs for ever (`until`), but those that help
  // somebody who waits without any speed or bandwidth do.
  double bring_forward(double date, double until) const {
    return changes_ ? date_before(date, until) : date;
  }
  // Does what is due.
  void apply() {
    if (next_ <= clock_.now()) apply_due();
  }

  // Throws BrokenInvariant.
  void verify() const;

 private:
  double date_before(double date, double until) const;
  void apply_due();
  void expect_failures();

  const PlatformData& platform_;
  Clock& clock_;
  Cpu& cpu_;
  Network& network_;
  Transfers& transfers_;
  Failures& failures_;
  std::unique_ptr<Changes> changes_;  // null: nothing ever changes
  double next_ = std::numeric_limits<double>::infinity();
};

}  // namespace tisim
