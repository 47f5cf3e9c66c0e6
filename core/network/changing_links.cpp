// Links whose bandwidth or latency changes, and flows that are taken out: see ADR 15.
//
// A flow keeps the bound of the bandwidths that it started with, and its weight and the bound of
// its latency move by what every link changes that it loads, on the way back too; a new flow
// takes all from the links as they are (SimGrid 3.32, network_cm02.cpp). So the flows of a pair
// that are under way when something changes become those of another variable of the system, an
// *old* pair, and the pair itself starts anew.

#include <algorithm>
#include <limits>
#include <utility>

#include "network/network.hpp"

namespace tisim {

namespace {
// The owner of a flow that was taken out while it paid its latency.
constexpr std::int32_t kDropped = std::numeric_limits<std::int32_t>::min();
}  // namespace

void Network::watch_changes() {
  for (const ResourceProfile& profile : platform_.profiles) {
    if (!profile.is_link || profile.what == Quantity::state) continue;
    if (!changing_) {
      changing_ = std::make_unique<ChangingLinks>();
      changing_->changes.resize(links_.size());
      changing_->delay.resize(links_.size());
      changing_->pairs.resize(links_.size());
    }
    changing_->changes[index_of(profile.index)] = true;
  }
}

void Network::enlist(std::int32_t pair, Course course) {
  std::vector<Course>& courses = changing_->courses;
  if (courses.size() < pairs_.size()) courses.resize(pairs_.size());
  courses[index_of(pair)] = std::move(course);
  const Pair& made = pairs_[index_of(pair)];
  for (const Element& element : way(made)) {
    const std::size_t link = index_of(element.link);
    if (changing_->changes[link]) changing_->pairs[link].push_back(pair);
  }
}

double Network::delay_of(const Route& route) const {
  double delay = 0.0;
  for (const std::int32_t link : route.links) delay += changing_->delay[index_of(link)];
  return delay;
}

void Network::set_bandwidth(std::int32_t index, double bandwidth) {
  Link& link = links_[index_of(index)];
  const double penalty = penalty_of(bandwidth) - penalty_of(link.capacity);
  link.capacity = bandwidth;
  cache_.clear();
  change_pairs(index, 0.0, penalty);
  if (link.count > 0 && !link.dirty) {
    link.dirty = true;
    dirty_links_.push_back(index);
  }
}

void Network::set_latency(std::int32_t index, double latency) {
  const double was = platform_.link_latency[index_of(index)] + changing_->delay[index_of(index)];
  changing_->delay[index_of(index)] = latency - platform_.link_latency[index_of(index)];
  cache_.clear();
  change_pairs(index, latency - was, latency - was);
}

void Network::change_pairs(std::int32_t link, double latency, double penalty) {
  std::vector<std::int32_t> moving;  // pairs whose flows began before this moment
  std::vector<std::int32_t> fresh;
  for (const std::int32_t pair : changing_->pairs[index_of(link)]) {
    const bool is_old = changing_->courses[index_of(pair)].is_old;
    if (!is_old) fresh.push_back(pair);
    if (is_old && pairs_[index_of(pair)].count > 0) moving.push_back(pair);
  }
  for (const std::int32_t pair : fresh) {
    if (pairs_[index_of(pair)].count > 0) moving.push_back(set_aside(pair));
    renew(pair, link, latency);
  }
  for (const std::int32_t pair : moving) shift(pair, latency, penalty);
}

// Moves the flows of a pair to an old one, which it returns.
std::int32_t Network::set_aside(std::int32_t index) {
  const std::int32_t old = old_pair(index);
  const Pair& from = pairs_[index_of(index)];
  Pair& to = pairs_[index_of(old)];
  changing_->courses[index_of(old)].terms = changing_->courses[index_of(index)].terms;
  types_[to.type] = type_of(from);
  to.value = from.value;
  Progress& progress = progress_[index_of(index)];
  Progress& moved = progress_[index_of(old)];
  moved.clock = progress.clock;
  moved.updated = progress.updated;
  moved.end = progress.end;
  moved.first_flow = std::exchange(progress.first_flow, -1);
  std::vector<std::int32_t> flows;
  list_flows(moved.first_flow, flows);
  for (const std::int32_t flow : flows) flows_[flow].pair = old;
  const std::int32_t count = from.count;
  if (progress.heap_position >= 0) {
    ends_.remove(static_cast<std::uint32_t>(index));
    ends_.update(moved.end, static_cast<std::uint32_t>(old));
  }
  change_count(index, -count);
  change_count(old, count);
  return old;
}

// A pair without flows that loads the same links.
std::int32_t Network::old_pair(std::int32_t index) {
  for (const std::int32_t old : changing_->courses[index_of(index)].old) {
    if (pairs_[index_of(old)].count == 0) return old;
  }
  RouteType type;
  type.elements = way(pairs_[index_of(index)]).size();
  const std::int32_t made = add_pair(copy_elements(index), type);
  enlist(made, {.terms = {}, .links = {}, .is_old = true, .old = {}});
  changing_->courses[index_of(index)].old.push_back(made);
  return made;
}

// The terms of flows that are under way.
void Network::shift(std::int32_t index, double latency, double penalty) {
  Terms& terms = changing_->courses[index_of(index)].terms;
  terms.latency += latency;
  terms.penalty += penalty;
  const Pair& pair = pairs_[index_of(index)];
  RouteType& type = types_[pair.type];
  const std::int32_t count = pair.count;
  change_count(index, -count);
  // In SimGrid the weight that a flow without latency takes then is that of its links.
  if ((latency != 0 || model_.weight_s > 0) && terms.penalty > 0) {
    type.penalty = terms.penalty;
    type.priority = 1.0 / type.penalty;
  }
  type.bound = bound_of(terms);
  limit_by_links(type, index_of(pair.elements));
  change_count(index, count);
}

// The terms of flows to come.
void Network::renew(std::int32_t index, std::int32_t link, double latency) {
  Course& course = changing_->courses[index_of(index)];
  const auto times = std::count(course.links.begin(), course.links.end(), link);
  course.terms =
      terms_of(course.links, course.terms.latency + static_cast<double>(times) * latency);
  const Pair& pair = pairs_[index_of(index)];
  RouteType& type = types_[pair.type];
  if (course.pays_latency) type.latency = course.terms.latency;
  weigh(type, course.terms);
  limit_by_links(type, index_of(pair.elements));
}

bool Network::leads_over(std::int32_t index, std::int32_t link) const {
  const std::span<const Element> elements = way(pairs_[index_of(index)]);
  return std::any_of(elements.begin(), elements.end(),
                     [link](const Element& element) { return element.link == link; });
}

std::int32_t Network::find_on_way(std::int32_t index, const std::vector<bool>& which) const {
  for (const Element& element : way(pairs_[index_of(index)])) {
    if (which[index_of(element.link)]) return element.link;
  }
  return -1;
}

void Network::list_starving(std::vector<std::int32_t>& links) const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].capacity <= 0 && links_[i].count > 0) links.push_back(static_cast<int>(i));
  }
}

void Network::list_flows(std::int32_t root, std::vector<std::int32_t>& flows) const {
  if (root >= 0) flows.push_back(root);
  for (std::size_t next = 0; next < flows.size(); ++next) {
    for (std::int32_t child = flows_[flows[next]].child; child >= 0;
         child = flows_[child].sibling) {
      flows.push_back(child);
    }
  }
}

void Network::drop(std::int32_t index, double now) {
  const std::int32_t of = flows_[index].pair;
  Pair& pair = pairs_[index_of(of)];
  Progress& progress = progress_[index_of(of)];
  std::vector<std::int32_t> flows;
  list_flows(progress.first_flow, flows);
  if (std::find(flows.begin(), flows.end(), index) == flows.end()) {
    flows_[index].owner = kDropped;  // it still pays its latency
    return;
  }
  if (pair.bottleneck >= 0) dissolve(pair.bottleneck, now);
  if (load_) charge(index_of(of), pair.value, progress.updated, now);
  progress.first_flow = -1;
  for (const std::int32_t flow : flows) {
    if (flow == index) continue;
    flows_[flow].child = flows_[flow].sibling = -1;
    add_flow(progress, flow);
  }
  flows_.release(index);
  change_count(of, -1);
  // The next end is another flow's; what it is after this instant is seen to in `solve`.
  date_end(of, now);
  pair.stale = true;
}

bool Network::discard(std::int32_t index) {
  if (flows_[index].owner != kDropped) return false;
  flows_.release(index);
  return true;
}

}  // namespace tisim
