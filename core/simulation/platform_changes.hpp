// Changes of hosts and links during a simulation: profiles and failures.
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

// Failures of hosts, links and ranks (ADR 15). A rank dies with its host. Transfers over a failed
// link, or from or to a dead rank, are lost.
struct Death {
  std::int32_t rank = 0;
  double date = 0.0;      // seconds
  std::int32_t host = 0;  // the failed host; -1: the rank was killed at a given time
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
  // `host`: the failed host of the rank, or -1. The rank is woken once more to be closed.
  void kill(std::int32_t rank, std::int32_t host);

  // Returns true if a rank that starts now would start on a failed host.
  bool is_host_off(std::int32_t host) const { return transfers_.is_host_off(host); }
  const std::vector<Death>& deaths() const { return deaths_; }

  // Checks that dead ranks stay dead. Throws BrokenInvariant.
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

// Applies changes during a simulation: the profiles of hosts and links, and ranks killed at given
// dates.
class PlatformChanges {
 public:
  PlatformChanges(const PlatformData& platform, Clock& clock, Cpu& cpu, Network& network,
                  Transfers& transfers, Failures& failures);
  PlatformChanges(const PlatformChanges&) = delete;
  PlatformChanges& operator=(const PlatformChanges&) = delete;

  // Kills the rank at a date, unless it has finished before.
  void kill_at(std::int32_t rank, double date);
  // Returns the date of the next event: `date`, or an earlier change. Changes alone do not keep an
  // unlimited run (`until`) going, unless they give speed or bandwidth to an action or flow that
  // has none.
  double bring_forward(double date, double until) const {
    return changes_ ? date_before(date, until) : date;
  }
  // Applies all changes that are due.
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
  std::unique_ptr<Changes> changes_;  // null: nothing changes
  double next_ = std::numeric_limits<double>::infinity();
};

}  // namespace tisim
