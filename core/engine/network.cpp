#include "engine/network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tisim {

namespace {
// Relative rounding that sums and dates accumulate; far below every tolerance.
constexpr double kRounding = 1e-12;
constexpr double kSameDate = 4e-15;
// What a flow takes from the links of the way back (network/crosstraffic).
constexpr double kCrosstraffic = 0.05;
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
    links_[i].fatpipe = platform.link_fatpipe[i] != 0;
  }
  watch_changes();
}

void Network::add_route(std::int32_t source, std::int32_t destination, Route route) {
  routes_.add(source, destination, std::move(route));
}

std::int32_t Network::pair(std::int32_t source, std::int32_t destination) {
  const std::uint64_t hosts = PlatformData::key(source, destination);
  const std::int32_t found = pair_of_hosts_.find(
      hash_of(hosts), [&](std::int32_t pair) { return hosts_of_pair_[index_of(pair)] == hosts; });
  if (found >= 0) return found;
  Route forward;
  Route backward;
  missing_source_ = source;
  missing_destination_ = destination;
  if (!routes_.find(source, destination, forward)) return -1;
  if (model_.crosstraffic && !routes_.find(destination, source, backward)) {
    std::swap(missing_source_, missing_destination_);
    return -1;
  }
  const std::int32_t made = make_pair(forward, backward);
  hosts_of_pair_.resize(pairs_.size());
  hosts_of_pair_[index_of(made)] = hosts;
  pair_of_hosts_.insert(
      made, [this](std::int32_t pair) { return hash_of(hosts_of_pair_[index_of(pair)]); });
  return made;
}

std::int32_t Network::make_pair(const Route& forward, const Route& backward) {
  Pair pair;
  pair.latency = forward.latency + (changing_ ? delay_of(forward) : 0.0);
  const std::size_t first = elements_.size();
  for (const std::int32_t link : forward.links) add_element(first, link, 1.0);
  for (const std::int32_t link : backward.links) add_element(first, link, kCrosstraffic);
  pair.elements = static_cast<std::int32_t>(first);
  pair.element_count = static_cast<std::uint16_t>(elements_.size() - first);
  const Terms terms = terms_of(forward.links, pair.latency);
  weigh(pair, terms);
  const std::int32_t made = add_pair(std::move(pair));
  if (changing_) enlist(made, {.terms = terms, .links = forward.links, .old = {}});
  return made;
}

Network::Terms Network::terms_of(const std::vector<std::int32_t>& links, double latency) const {
  Terms terms{latency, latency, -1.0};
  for (const std::int32_t link : links) {
    const double bandwidth = links_[index_of(link)].capacity;
    if (terms.bound < 0 || bandwidth < terms.bound) terms.bound = bandwidth;
    terms.penalty += penalty_of(bandwidth);
  }
  return terms;
}

// What the terms make of a flow that starts; one that pays no latency has weight 1.
void Network::weigh(Pair& pair, const Terms& terms) const {
  pair.bound = bound_of(terms);
  pair.penalty = pair.latency > 0 ? terms.penalty : 1.0;
  pair.priority = 1.0 / pair.penalty;
}

// A link without bandwidth, on which nothing moves, weighs nothing.
double Network::penalty_of(double bandwidth) const {
  return bandwidth > 0 ? model_.weight_s / bandwidth : 0.0;
}

double Network::bound_of(const Terms& terms) const {
  if (terms.latency <= 0) return terms.bound;
  // A gamma of 0 leaves a flow that has a latency without any bound, as in SimGrid.
  const double by_latency = model_.tcp_gamma / (2.0 * terms.latency);
  if (by_latency <= 0) return -1.0;
  return terms.bound < 0 ? by_latency : std::min(terms.bound, by_latency);
}

void Network::add_element(std::size_t first, std::int32_t link, double weight) {
  for (std::size_t i = first; i < elements_.size(); ++i) {
    if (elements_[i].link == link) {
      elements_[i].weight = links_[index_of(link)].fatpipe ? std::max(elements_[i].weight, weight)
                                                           : elements_[i].weight + weight;
      return;
    }
  }
  elements_.push_back({link, -1, weight});
}

// What each link does to the pair alone goes into its bounds.
void Network::limit_by_links(Pair& pair) const {
  pair.narrowest = -1.0;
  for (std::int32_t i = 0; i < pair.element_count; ++i) {
    const Element& element = elements_[index_of(pair.elements + i)];
    const Link& link = links_[index_of(element.link)];
    const double most = link.capacity / element.weight;
    double& limited = link.fatpipe ? pair.bound : pair.narrowest;
    if (limited < 0 || most < limited) limited = most;
  }
}

std::int32_t Network::add_pair(Pair&& pair) {
  limit_by_links(pair);
  pairs_.push_back(std::move(pair));
  marks_.push_back(0);
  return static_cast<std::int32_t>(pairs_.size()) - 1;
}

// A flow whose latency is 0 has weight 1, whatever the others of its pair have.
std::int32_t Network::without_latency(std::int32_t index) {
  if (pairs_[index_of(index)].latency <= 0) return index;
  if (pairs_[index_of(index)].unpaid < 0) {
    const Pair& original = pairs_[index_of(index)];
    Pair copy;
    copy.bound = original.bound;
    copy.elements = static_cast<std::int32_t>(elements_.size());
    copy.element_count = original.element_count;
    for (std::int32_t i = 0; i < copy.element_count; ++i) {
      const Element& element = elements_[index_of(original.elements + i)];
      elements_.push_back({element.link, -1, element.weight});
    }
    const std::int32_t made = add_pair(std::move(copy));
    pairs_[index_of(index)].unpaid = made;
    if (changing_) {
      const Course& course = changing_->courses[index_of(index)];
      enlist(made,
             {.terms = course.terms, .links = course.links, .pays_latency = false, .old = {}});
    }
  }
  return pairs_[index_of(index)].unpaid;
}

std::int32_t Network::start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                            double* latency) {
  *latency = pairs_[index_of(pair)].latency * model_.latency_factor.at(bytes);
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
  Pair& pair = pairs_[index_of(flow.pair)];
  advance(flow.pair, now);
  if (pair.count == 0) pair.clock = 0.0;
  flow.finish = pair.element_count == 0 ? pair.clock : pair.clock + flow.finish;
  add_flow(pair, index);
  change_count(flow.pair, 1);
}

// A pairing heap (Fredman et al. 1986) through the flows themselves.
std::int32_t Network::meld(std::int32_t a, std::int32_t b) {
  if (flows_[b].finish < flows_[a].finish) std::swap(a, b);
  flows_[b].sibling = flows_[a].child;
  flows_[a].child = b;
  return a;
}

void Network::add_flow(Pair& pair, std::int32_t flow) {
  pair.first_flow = pair.first_flow < 0 ? flow : meld(pair.first_flow, flow);
}

std::int32_t Network::take_flow(Pair& pair) {
  const std::int32_t taken = pair.first_flow;
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
  pair.first_flow = root;
  return taken;
}

bool Network::slack(const Link& link) {
  // Shared: all pairs at their most do not fill it. Fat pipe: every flow reaches its bound before
  // the greediest of them fills the pipe.
  const double most = link.capacity * (1 + kRounding);
  if (link.fatpipe) [[unlikely]]
    return link.reach * link.greed <= most;
  return link.load <= most;
}

// What all flows of a pair can get together at most, bytes/s.
double Network::asked(const Pair& pair) const {
  const double most = pair.count * pair.bound;
  const bool narrow =
      pair.count > 0 && pair.narrowest >= 0 && (pair.bound < 0 || most > pair.narrowest);
  return narrow ? pair.narrowest : most;
}

void Network::change_count(std::int32_t index, std::int32_t by) {
  Pair& pair = pairs_[index_of(index)];
  const bool appears = pair.count == 0;
  const double before = asked(pair);
  pair.count += by;
  const bool vanishes = pair.count == 0;
  if (!pair.stale) {
    pair.stale = true;
    touched_.push_back(index);
  }
  const double after = asked(pair);
  const double more = after - before;
  pair.limit = pair.count > 1 ? after / pair.count : after;
  if (pair.count * pair.bound == after) pair.limit = pair.bound;
  const std::int32_t step =
      static_cast<std::int32_t>(appears) - static_cast<std::int32_t>(vanishes);
  Element* const first = elements_.data() + pair.elements;
  for (Element* element = first; element != first + pair.element_count; ++element) {
    Link& link = links_[index_of(element->link)];
    const bool was_slack = slack(link);
    link.count += step;
    if (link.count == 0) {
      link.load = link.reach = link.greed = 0.0;
    } else if (link.fatpipe) [[unlikely]] {
      link.reach = std::max(link.reach, pair.bound / pair.priority);
      link.greed = std::max(link.greed, element->weight * pair.priority);
    } else {
      link.load += element->weight * more;
    }
    if (element->position < 0) list(*element, index);
    if (!link.dirty && !(was_slack && slack(link))) {
      link.dirty = true;
      dirty_links_.push_back(element->link);
    }
  }
}

// Makes a pair a member of a link on its way.
void Network::list(Element& element, std::int32_t pair) {
  std::vector<Member>& members = links_[index_of(element.link)].members;
  element.position = static_cast<std::int32_t>(members.size());
  // Half as many more, not twice as many: there may be a million links.
  if (members.size() == members.capacity()) {
    members.reserve(members.size() + members.size() / 2 + 2);
  }
  members.push_back({pair, static_cast<std::int32_t>(&element - elements_.data())});
}

void Network::date_end(std::int32_t index, double now) {
  Pair& pair = pairs_[index_of(index)];
  pair.stale = false;
  if (pair.count == 0) {
    ends_.remove(static_cast<std::uint32_t>(index));
    return;
  }
  // The clock may be older than now while its rate has not changed: dates are absolute.
  const double left = flows_[pair.first_flow].finish - pair.clock;
  if (left > 0 && pair.value <= 0) {  // starved: some other change must help it
    ends_.remove(static_cast<std::uint32_t>(index));
    return;
  }
  pair.end = left > 0 ? pair.updated + left / pair.value : now;
  // A date that moves away is corrected when it comes up.
  const auto id = static_cast<std::uint32_t>(index);
  if (pair.heap_position < 0 || pair.end < ends_.date_of(id)) ends_.update(pair.end, id);
}

double Network::next_end() {
  double date = std::numeric_limits<double>::infinity();
  while (!ends_.empty()) {
    date = pairs_[ends_.top_id()].end;
    if (date <= ends_.top_date()) break;
    ends_.update(date, ends_.top_id());
  }
  return bottleneck_ends_.empty() ? date : std::min(date, bottleneck_ends_.top_date());
}

// The flow of the pair that ends next, and all that end with it.
void Network::end_flows(std::int32_t index, double now) {
  advance(index, now);
  Pair& pair = pairs_[index_of(index)];
  pair.clock = flows_[pair.first_flow].finish;
  const double done = pair.clock * (1 + kSameDate);
  std::int32_t gone = 0;
  while (pair.first_flow >= 0 && flows_[pair.first_flow].finish <= done) {
    ended_.push_back(take_flow(pair));
    ++gone;
  }
  change_count(index, -gone);
}

void Network::collect_ended(double now, Stack<std::int32_t>& owners) {
  ended_.clear();
  const double latest = now * (1 + kSameDate);
  collect_from_bottlenecks(now, latest);
  while (!ends_.empty() && next_end() <= latest) {
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
