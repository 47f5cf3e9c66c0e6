#include "graph/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

namespace tisim {

namespace {

// Maximum number of nodes of a lane, counting repetitions.
constexpr double kMaxNodes = 1e12;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0.0; }

bool is_index(std::int32_t index, std::size_t count) {
  return index >= 0 && static_cast<std::size_t>(index) < count;
}

bool is_rate(double rate) { return std::isfinite(rate) && rate > 0.0; }

void check_links(const GraphPrograms& p) {
  for (const double bandwidth : p.links) require(is_rate(bandwidth), "a link has a bandwidth");
  require(p.use_ends.size() == p.calls.size(), "each call has links that it uses");
  std::int32_t before = 0;
  for (const std::int32_t end : p.use_ends) {
    require(end >= before && static_cast<std::size_t>(end) <= p.uses.size(),
            "a call uses links after those of the one before");
    before = end;
  }
  for (const LinkUse& use : p.uses) {
    require(is_index(use.link, p.links.size()), "there is no such link");
    require(is_rate(use.channels), "a link is used by more than 0 channels");
  }
}

void check_node(const GraphPrograms& p, const Node& node, std::size_t block) {
  require(static_cast<int>(node.kind) < kNodeKinds, "a node has no such kind");
  require(is_index(node.stream, static_cast<std::size_t>(p.streams)), "a lane has no such stream");
  require(is_time(node.arithmetic) && is_time(node.memory), "a node takes a time from 0 on");
  switch (node.kind) {
    case NodeKind::meet:
      require(is_index(node.target, p.parties.size()), "there is no such meeting");
      require(is_index(node.count, p.calls.size()), "there is no such call");
      break;
    case NodeKind::record:
    case NodeKind::wait:
      require(is_index(node.target, static_cast<std::size_t>(p.events)), "there is no such event");
      break;
    case NodeKind::repeat:
      require(is_index(node.target, block), "a block repeats only those before it");
      require(node.count > 0, "a block is repeated once or more");
      break;
    case NodeKind::compute:
    case NodeKind::delay:
    case NodeKind::host:
    case NodeKind::synchronize:
      break;
  }
}

}  // namespace

void GraphPrograms::check() const {
  require(!lanes.empty(), "a graph has at least one lane");
  require(streams > 0 && events >= 0 && is_time(launch), "the sizes of lanes are wrong");
  check_links(*this);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const MeetingCall& call = calls[i];
    require(is_time(call.seconds) && is_time(call.bytes), "a call takes a time from 0 on");
    // Without links, bytes would move instantly.
    require(
        call.bytes == 0 || (is_rate(call.rate) && !uses_of(static_cast<std::int32_t>(i)).empty()),
        "a call that moves bytes has a rate and a link");
    require(call.sms >= 0 && call.sms < 1 && call.memory >= 0 && call.memory < 1,
            "a call leaves a share of the GPU");
  }
  for (const std::int32_t count : parties) require(count > 0, "a meeting has a party");
  std::vector<double> sizes;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [first, end] = blocks[i];
    require(first >= 0 && first < end && is_index(end - 1, nodes.size()),
            "a block has nodes of its own");
    double size = 0;
    for (std::int32_t at = first; at < end; ++at) {
      const Node& node = nodes[static_cast<std::size_t>(at)];
      check_node(*this, node, i);
      size += node.kind == NodeKind::repeat
                  ? node.count * sizes[static_cast<std::size_t>(node.target)]
                  : 1;
    }
    require(size <= kMaxNodes, "a lane has too many nodes");
    sizes.push_back(size);
  }
  for (const std::int32_t block : lanes)
    require(block == kNoBlock || is_index(block, blocks.size()), "no such block");
}

}  // namespace tisim
