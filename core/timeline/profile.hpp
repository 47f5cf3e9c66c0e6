// Sums over a whole simulation: where each rank's time went, who was waited for, who sent to whom.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

// Seconds of one state in actions of one kind, one entry a rank.
struct ProfileColumn {
  std::uint8_t state;
  std::uint8_t kind;  // a place in `kind_names`
  std::vector<double> seconds;
};

struct WaitSum {
  double seconds = 0.0;
  std::int64_t count = 0;
};

struct TrafficSum {
  std::int64_t bytes = 0, messages = 0;
  std::int64_t collective_bytes = 0, collective_messages = 0;  // those among them
};

class Profile : public Listener, public StateSink {
 public:
  explicit Profile(std::int32_t ranks);

  std::size_t ranks() const override { return ranks_; }
  void row(const StateRow& row) override;
  void end(const OpenAction& action) override;
  void received(const MessageRecord& message, const OpenAction* action) override;
  void lost(const MessageRecord& message) override { count(message); }

  const std::vector<ProfileColumn>& columns() const { return columns_; }
  // Actions of each kind, by kind, then one entry a rank.
  const std::map<std::uint8_t, std::vector<std::int64_t>>& counts() const { return counts_; }

  struct WaitRow {
    double seconds;
    std::int64_t count;
    std::int32_t rank, cause;
    std::uint8_t state, kind;
  };
  struct TrafficRow {
    std::int64_t bytes, messages, collective_bytes, collective_messages;
    std::int32_t source, destination;
  };
  // In the order of (state, kind, rank, cause) and (source, destination).
  std::vector<WaitRow> waits() const;
  std::vector<TrafficRow> traffic() const;

 private:
  void count(const MessageRecord& message);

  std::size_t ranks_;
  std::vector<ProfileColumn> columns_;
  std::array<std::array<std::int16_t, 256>, kStates> column_of_;  // -1: none yet
  std::map<std::uint8_t, std::vector<std::int64_t>> counts_;
  // By (rank, cause), of each state and kind.
  std::map<std::uint16_t, std::unordered_map<std::uint64_t, WaitSum>> waits_;
  std::unordered_map<std::uint64_t, TrafficSum> traffic_;  // by (source, destination)
};

}  // namespace tisim
