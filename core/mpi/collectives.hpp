// Collectives: entering them, and the schedules of point-to-point operations that carry them out,
// which are made outside on demand and kept.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/communicators.hpp"
#include "mpi/point_to_point.hpp"
#include "mpi/request_table.hpp"
#include "mpi/rounds.hpp"
#include "mpi/runtime.hpp"
#include "mpi/schedules.hpp"

namespace tisim {

class Collectives {
 public:
  Collectives(const Runtime& runtime, CommunicatorTable& communicators, RequestTable& requests,
              PointToPoint& messages, Schedules& schedules, CollectiveRounds& rounds)
      : runtime_(runtime),
        communicators_(communicators),
        requests_(requests),
        messages_(messages),
        schedules_(schedules),
        rounds_(rounds) {}
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  bool enter(Rank& rank, std::int32_t index);
  // All ranks have come that wait for one another before the collective. The rank takes the
  // schedule that is kept for its call, or asks for one.
  bool find_schedule(Rank& rank, std::int32_t index);
  // Asks for the schedule of a rank in a communicator.
  bool ask_schedule(Rank& rank, std::int32_t index, std::int32_t comm, std::int32_t number);
  // The answer: rows of a schedule; peers are ranks of the communicator. `last`: calls that are the
  // same from now on need other schedules.
  void provide_schedule(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                        std::span<const double> sizes, std::span<const std::int32_t> tags,
                        std::span<const std::int32_t> slots, bool last);
  // The rank has carried out its schedule, or the share of it that belongs to the call. False: a
  // route is missing that later rounds need.
  bool end_schedule(Rank& rank, std::int32_t index);

  // Ranks that are in a schedule agree with it. Throws BrokenInvariant.
  void verify() const;

 private:
  bool synchronise(Rank& rank, std::int32_t index);
  void start_schedule(Rank& rank, std::int32_t schedule);
  bool has_ways(Rank& rank, std::int32_t index) const;
  void list_request(Rank& rank, std::int32_t index);

  Runtime runtime_;
  CommunicatorTable& communicators_;
  RequestTable& requests_;
  PointToPoint& messages_;
  Schedules& schedules_;
  CollectiveRounds& rounds_;
};

}  // namespace tisim
