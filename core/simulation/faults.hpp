// What is off, who has been killed, and which messages were lost by that.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tisim {

// Why a message never arrives.
struct Loss {
  enum class Cause : std::uint8_t { link, host, rank };
  Cause cause = Cause::link;
  std::int32_t index = 0;  // of the link that is off, of the host that is off, of the dead rank
  double date = 0.0;       // seconds
};

struct Death {
  std::int32_t rank = 0;
  double date = 0.0;      // seconds
  std::int32_t host = 0;  // that was turned off, -1: the rank was killed at a given time
};

// A transfer under way.
struct Flight {
  std::int32_t flow = -1;
  std::int32_t source = -1, destination = -1;  // hosts; -1: those of a message's ranks
};

// Made for platforms whose states change and for ranks that are to be killed; others pay nothing.
struct Faults {
  std::vector<bool> host_off;
  std::vector<bool> link_off;
  std::unordered_map<std::int32_t, Flight> flying;  // by owner
  std::unordered_map<std::int32_t, Loss> lost;      // by message
  std::vector<bool> failed;                         // of each activity
  std::vector<Death> deaths;
};

}  // namespace tisim
