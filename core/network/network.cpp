#include "network/network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tisim {

namespace {
// Relative rounding that sums and dates accumulate; far below every tolerance.
constexpr double kRounding = 1e-12;
constexpr double kSameDate = 4e-15;
}  // namespace

Network::Network(const Model& model, const PlatformData& platform)
    : model_(model),
      platform_(platform),
      routes_(platform),
      ends_(PairPositions{this}),
      bottleneck_ends_(BottleneckPositions{this}) {
  const std::size_t count = platform.link_bandwidth.size();
  links_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    links_[i].capacity = platform.link_bandwidth[i];
    if (platform.link_fatpipe[i] == 0) continue;
    links_[i].fatpipe = true;
    links_[i].own = static_cast<std::int32_t>(pipes_.size());
    pipes_.emplace_back();
  }
  watch_changes();
}

void Network::add_route(std::int32_t source, std::int32_t destination, Route route) {
  routes_.add(source, destination, std::move(route));
}

std::int32_t Network::start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                            double* latency) {
  *latency = type_of(pairs_[index_of(pair)]).latency * model_.latency_factor.at(bytes);
  const std::int32_t index = flows_.acquire();
  Flow& flow = flows_[index];
  flow.finish = bytes / model_.bandwidth_factor.at(bytes);
  flow.owner = owner;
  flow.order = order_++;
  flow.pair = *latency > 0 ? pair : without_latency(pair);
  if (*latency <= 0) activate(index, now);
  return index;
}

void Network::activate(std::int32_t index, double now) {
  Flow& flow = flows_[index];
  const Pair& pair = pairs_[index_of(flow.pair)];
  Progress& progress = progress_[index_of(flow.pair)];
  advance(flow.pair, now);
  if (pair.count == 0) progress.clock = 0.0;
  const bool has_links = type_of(pair).elements > 0;
  flow.finish = has_links ? progress.clock + flow.finish : progress.clock;
  add_flow(progress, index);
  change_count(flow.pair, 1);
}

// A pairing heap (Fredman et al. 1986) through the flows themselves.
std::int32_t Network::meld(std::int32_t a, std::int32_t b) {
  if (flows_[b].finish < flows_[a].finish) std::swap(a, b);
  flows_[b].sibling = flows_[a].child;
  flows_[a].child = b;
  return a;
}

void Network::add_flow(Progress& progress, std::int32_t flow) {
  progress.first_flow = progress.first_flow < 0 ? flow : meld(progress.first_flow, flow);
}

std::int32_t Network::take_flow(Progress& progress) {
  const std::int32_t taken = progress.first_flow;
  std::int32_t paired = -1;  // a list of heaps of two, the last first
  for (std::int32_t next = flows_[taken].child; next >= 0;) {
    const std::int32_t a = next;
    const std::int32_t b = flows_[a].sibling;
    next = b >= 0 ? flows_[b].sibling : -1;
    flows_[a].sibling = -1;
    std::int32_t two = a;
    if (b >= 0) {
      flows_[b].sibling = -1;
      two = meld(a, b);
    }
    flows_[two].sibling = paired;
    paired = two;
  }
  std::int32_t root = paired;
  if (root >= 0) {
    paired = flows_[root].sibling;
    flows_[root].sibling = -1;
    while (paired >= 0) {
      const std::int32_t next = flows_[paired].sibling;
      flows_[paired].sibling = -1;
      root = meld(root, paired);
      paired = next;
    }
  }
  progress.first_flow = root;
  return taken;
}

bool Network::slack(const Link& link) const {
  // Shared: all pairs at their most do not fill it. Fat pipe: every flow reaches its bound before
  // the greediest of them fills the pipe.
  const double most = link.capacity * (1 + kRounding);
  if (link.fatpipe) [[unlikely]] {
    const FatPipe& pipe = pipes_[index_of(link.own)];
    return pipe.reach * pipe.greed <= most;
  }
  return link.load <= most;
}

// What so many flows of a pair can get together at most, bytes/s.
double Network::asked(std::int32_t count, const RouteType& type) {
  const double most = count * type.bound;
  const bool narrow = count > 0 && type.narrowest >= 0 && (type.bound < 0 || most > type.narrowest);
  return narrow ? type.narrowest : most;
}

void Network::change_count(std::int32_t index, std::int32_t by) {
  Pair& pair = pairs_[index_of(index)];
  const RouteType& type = type_of(pair);
  const bool appears = pair.count == 0;
  const double before = asked(pair.count, type);
  pair.count += by;
  const bool vanishes = pair.count == 0;
  if (!pair.stale) {
    pair.stale = true;
    touched_.push_back(index);
  }
  const double after = asked(pair.count, type);
  const double more = after - before;
  pair.limit = pair.count > 1 ? after / pair.count : after;
  if (pair.count * type.bound == after) pair.limit = type.bound;
  const std::int32_t step =
      static_cast<std::int32_t>(appears) - static_cast<std::int32_t>(vanishes);
  const std::span<Element> elements = way(pair);
  Link* const links = links_.data();
  const double* const weights = weights_.data();
  dirty_links_.make_room(elements.size());
  // Whether a link becomes idle, or matters, cannot be predicted: no branch depends on it.
  for (Element& element : elements) {
    Link& link = links[element.link];
    const bool was_slack = slack(link);
    link.count += step;
    if (link.fatpipe) [[unlikely]] {
      FatPipe& pipe = pipes_[index_of(link.own)];
      pipe.reach = link.count == 0 ? 0.0 : std::max(pipe.reach, type.bound / type.priority);
      pipe.greed = link.count == 0 ? 0.0 : std::max(pipe.greed, weight(element) * type.priority);
    } else {
      const double is_used = std::min(link.count, 1);
      link.load = (link.load + weights[element.weight] * more) * is_used;
    }
    if (!element.listed) list(index, element, static_cast<std::size_t>(&element - &elements[0]));
    const bool matters = !(was_slack & slack(link));
    dirty_links_.append_if(matters & !link.dirty, element.link);
    link.dirty |= matters;
  }
}

// Makes a pair a member of a link on its way.
void Network::list(std::int32_t pair, Element& element, std::size_t place) {
  element.listed = true;
  links_[index_of(element.link)].members.push_back(
      {pair, static_cast<std::uint16_t>(place), element.weight});
}

void Network::date_end(std::int32_t index, double now) {
  Pair& pair = pairs_[index_of(index)];
  Progress& progress = progress_[index_of(index)];
  pair.stale = false;
  if (pair.count == 0) {
    ends_.remove(static_cast<std::uint32_t>(index));
    return;
  }
  // The clock may be older than now while its rate has not changed: dates are absolute.
  const double left = flows_[progress.first_flow].finish - progress.clock;
  if (left > 0 && pair.value <= 0) {  // starved: some other change must help it
    ends_.remove(static_cast<std::uint32_t>(index));
    return;
  }
  progress.end = left > 0 ? progress.updated + left / pair.value : now;
  // A date that moves away is corrected when it comes up.
  const auto id = static_cast<std::uint32_t>(index);
  if (progress.heap_position < 0 || progress.end < ends_.date_of(id)) {
    ends_.update(progress.end, id);
  }
}

double Network::next_end() {
  double date = std::numeric_limits<double>::infinity();
  while (!ends_.empty()) {
    date = progress_[ends_.top_id()].end;
    if (date <= ends_.top_date()) break;
    ends_.update(date, ends_.top_id());
  }
  return bottleneck_ends_.empty() ? date : std::min(date, bottleneck_ends_.top_date());
}

// The flow of the pair that ends next, and all that end with it.
void Network::end_flows(std::int32_t index, double now) {
  advance(index, now);
  Progress& progress = progress_[index_of(index)];
  progress.clock = flows_[progress.first_flow].finish;
  const double done = progress.clock * (1 + kSameDate);
  std::int32_t gone = 0;
  while (progress.first_flow >= 0 && flows_[progress.first_flow].finish <= done) {
    ended_.push_back(take_flow(progress));
    ++gone;
  }
  change_count(index, -gone);
}

void Network::collect_ended(double now, Stack<std::int32_t>& owners) {
  ended_.clear();
  const double latest = now * (1 + kSameDate);
  collect_from_bottlenecks(now, latest);
  while (!ends_.empty() && ends_.top_date() <= latest && next_end() <= latest) {
    const auto index = static_cast<std::int32_t>(ends_.top_id());
    ends_.pop();
    end_flows(index, now);
  }
  if (ended_.size() > 1) {
    std::sort(ended_.begin(), ended_.end(),
              [this](std::int32_t a, std::int32_t b) { return flows_[a].order < flows_[b].order; });
  }
  for (const std::int32_t flow : ended_) {
    owners.push_back(flows_[flow].owner);
    flows_.release(flow);
  }
}

}  // namespace tisim
