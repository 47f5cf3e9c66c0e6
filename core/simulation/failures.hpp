// What happens when a host, a link or a rank fails (ADR 15). A rank dies with its host. What is
// being transferred over a link that goes off, or to or from a rank that dies, is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "host/cpu.hpp"
#include "io/file/files.hpp"
#include "mpi/matching/matcher.hpp"
#include "mpi/rank/runtime.hpp"
#include "transfer/activities.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

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

  // Whether a rank that starts now would start on a host that is off.
  bool is_host_off(std::int32_t host) const { return transfers_.is_host_off(host); }
  const std::vector<Death>& deaths() const { return deaths_; }

  // Who has died is dead. Throws BrokenInvariant.
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

}  // namespace tisim
