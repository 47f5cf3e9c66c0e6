// Timelines in Paje format, as written by SimGrid 3.32 for a replay (tracing/smpi): a state for
// each MPI call, with SimGrid's names, and a link for each message between two calls.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "timeline/formats/text.hpp"

namespace tisim {

class PajeWriter : public Writer {
 public:
  explicit PajeWriter(std::int32_t ranks);

  std::size_t ranks() const override { return arrived_.size(); }
  void begin(const OpenAction& action) override;
  void end(const OpenAction& action) override;
  void sent(const SentRecord& record, const OpenAction* action) override;
  void received(const MessageRecord& message, const OpenAction* action) override;
  void finish(std::int32_t rank, double time) override;

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // source, destination, tag
  struct Started {
    Key key;
    std::int64_t number = 0;
  };
  void push(double time, std::int32_t rank, std::string_view value);
  void pop(double time, std::int32_t rank);
  void start_link(const OpenAction& action);
  void end_links(std::int32_t rank, double time);
  void write_end(const Started& link, std::int32_t rank, double time);
  void write_key(const Started& link);

  std::map<std::string_view, std::int32_t> values_;  // number of each state name
  std::int64_t links_ = 0;
  std::vector<Started> current_links_;                   // by rank: the link of the current send
  std::unordered_map<std::int64_t, Started> in_flight_;  // by message number
  std::vector<std::vector<std::int64_t>> arrived_;       // by rank: messages of the current action
};

}  // namespace tisim
