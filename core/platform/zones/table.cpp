#include "platform/zones/table.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "platform/zones/route_search.hpp"

namespace tisim {

namespace {

// Cached trees are dropped when they contain more vertices than this: 64 MiB.
constexpr std::size_t kKeptVertices = std::size_t{1} << 24;

std::uint64_t hash_of_ends(std::int32_t source, std::int32_t destination) {
  return hash_of(static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 |
                 static_cast<std::uint32_t>(destination));
}

}  // namespace

TableZone::TableZone(Point place, std::int32_t size, std::vector<std::int32_t> sources,
                     std::vector<std::int32_t> destinations, DeclaredRoutes routes)
    : Zone(place),
      size_(size),
      sources_(std::move(sources)),
      destinations_(std::move(destinations)),
      routes_(std::move(routes)) {
  if (sources_.size() != routes_.size() || destinations_.size() != routes_.size()) {
    throw std::invalid_argument("each declared route has a source and a destination");
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    for (const std::int32_t vertex : {sources_[i], destinations_[i]}) {
      if (vertex < 0 || vertex >= size_) {
        throw std::invalid_argument("the ends of a declared route are vertices of its zone");
      }
    }
    if (find(sources_[i], destinations_[i]) >= 0) {
      throw std::invalid_argument("a pair has one declared route");
    }
    numbers_.insert(static_cast<std::int32_t>(i), [this](std::int32_t number) {
      const auto at = static_cast<std::size_t>(number);
      return hash_of_ends(sources_[at], destinations_[at]);
    });
  }
}

std::int32_t TableZone::find(std::int32_t source, std::int32_t destination) const {
  return numbers_.find(hash_of_ends(source, destination), [&](std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    return sources_[at] == source && destinations_[at] == destination;
  });
}

bool TableZone::join(const RouteSearch& search, const std::vector<std::int32_t>& steps,
                     bool backwards, LocalRoute& route) const {
  // A zone on the route may put its links before the earlier ones, so collect them separately.
  std::vector<std::int32_t> links;
  for (std::size_t i = steps.size(); i > 0; --i) {
    const DeclaredRoute step = declared(steps[i - 1]);
    if (i == steps.size()) {
      route.begin = step.begin;
    } else {
      const Point at = declared(steps[i]).end;
      if (at.zone >= 0 && step.begin.zone >= 0 && at != step.begin &&
          !search.find(at, step.begin, links, route.terms)) {
        return false;
      }
    }
    const std::size_t before = links.size();
    links.insert(links.end(), step.links.begin(), step.links.end());
    if (backwards) std::reverse(links.begin() + static_cast<std::ptrdiff_t>(before), links.end());
    search.append_terms(links, before, route.terms);
    route.end = step.end;
  }
  route.links.insert(route.links.end(), links.begin(), links.end());
  return true;
}

bool FullZone::route(const RouteSearch&, std::int32_t source, std::int32_t destination,
                     LocalRoute& route) const {
  const std::int32_t number = find(source, destination);
  if (number < 0) return false;
  const DeclaredRoute declared_route = declared(number);
  route.links.insert(route.links.end(), declared_route.links.begin(), declared_route.links.end());
  route.begin = declared_route.begin;
  route.end = declared_route.end;
  return true;
}

void FloydZone::compute() const {
  const auto count = static_cast<std::size_t>(size());
  constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max() / 4;
  std::vector<std::int64_t> cost(count * count, kUnreachable);
  before_.assign(count * count, -1);
  for (std::size_t i = 0; i < declared(); ++i) {
    const std::size_t at =
        static_cast<std::size_t>(source(i)) * count + static_cast<std::size_t>(destination(i));
    cost[at] = static_cast<std::int64_t>(declared(static_cast<std::int32_t>(i)).links.size());
    before_[at] = source(i);
  }
  for (std::size_t via = 0; via < count; ++via) {
    const std::int64_t* onwards = &cost[via * count];
    for (std::size_t from = 0; from < count; ++from) {
      const std::int64_t reached = cost[from * count + via];
      if (reached == kUnreachable || from == via) continue;
      for (std::size_t to = 0; to < count; ++to) {
        const std::size_t at = from * count + to;
        if (reached + onwards[to] >= cost[at]) continue;
        cost[at] = reached + onwards[to];
        before_[at] = before_[via * count + to];
      }
    }
  }
}

bool FloydZone::route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
                      LocalRoute& route) const {
  std::call_once(computed_, [this] { compute(); });
  const std::int32_t* before =
      before_.data() + static_cast<std::size_t>(source) * static_cast<std::size_t>(size());
  std::vector<std::int32_t> steps;
  std::int32_t at = destination;
  do {
    const std::int32_t previous = before[at];
    if (previous < 0) return false;
    steps.push_back(find(previous, at));
    at = previous;
  } while (at != source);
  return join(search, steps, false, route);
}

DijkstraZone::DijkstraZone(Point place, std::int32_t size, std::vector<std::int32_t> sources,
                           std::vector<std::int32_t> destinations, DeclaredRoutes routes)
    : TableZone(place, size, std::move(sources), std::move(destinations), std::move(routes)),
      rank_(static_cast<std::size_t>(size), -1),
      first_(static_cast<std::size_t>(size) + 1, 0),
      leaving_(declared()) {
  std::int32_t ranked = 0;
  for (std::size_t i = 0; i < declared(); ++i) {
    for (const std::int32_t vertex : {source(i), this->destination(i)}) {
      std::int32_t& rank = rank_[static_cast<std::size_t>(vertex)];
      if (rank < 0) rank = ranked++;
    }
    ++first_[static_cast<std::size_t>(source(i)) + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t i = 0; i < declared(); ++i) {
    leaving_[next[static_cast<std::size_t>(source(i))]++] = static_cast<std::int32_t>(i);
  }
}

DijkstraZone::Tree DijkstraZone::search_from(std::int32_t source) const {
  constexpr std::int64_t kUnreached = std::numeric_limits<std::int64_t>::max();
  const auto count = static_cast<std::size_t>(size());
  Tree before(count, -1);
  std::vector<std::int64_t> cost(count, kUnreached);
  using Entry = std::tuple<std::int64_t, std::int32_t, std::int32_t>;  // cost, rank, vertex
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  cost[static_cast<std::size_t>(source)] = 0;
  queue.emplace(0, rank_[static_cast<std::size_t>(source)], source);
  while (!queue.empty()) {
    const auto [reached, rank, vertex] = queue.top();
    queue.pop();
    const auto at = static_cast<std::size_t>(vertex);
    if (reached > cost[at]) continue;
    for (std::size_t i = first_[at]; i < first_[at + 1]; ++i) {
      const std::int32_t neighbour = this->destination(static_cast<std::size_t>(leaving_[i]));
      const std::int64_t there =
          reached + static_cast<std::int64_t>(declared(leaving_[i]).links.size());
      const auto place = static_cast<std::size_t>(neighbour);
      if (there >= cost[place]) continue;
      cost[place] = there;
      before[place] = vertex;
      queue.emplace(there, rank_[place], neighbour);
    }
  }
  return before;
}

void DijkstraZone::steps_of(std::int32_t source, std::int32_t destination,
                            std::vector<std::int32_t>& steps) const {
  const std::scoped_lock lock(mutex_);
  auto tree = trees_.find(source);
  if (tree == trees_.end()) {
    if ((trees_.size() + 1) * static_cast<std::size_t>(size()) > kKeptVertices) trees_.clear();
    tree = trees_.emplace(source, search_from(source)).first;
  }
  for (std::int32_t at = destination; at != source;) {
    const std::int32_t previous = tree->second[static_cast<std::size_t>(at)];
    if (previous < 0) {
      steps.clear();
      return;
    }
    steps.push_back(find(previous, at));
    at = previous;
  }
}

bool DijkstraZone::route(const RouteSearch& search, std::int32_t source, std::int32_t destination,
                         LocalRoute& route) const {
  std::vector<std::int32_t> steps;
  if (source == destination) {
    const std::int32_t own = find(source, destination);
    if (own >= 0) steps.push_back(own);
  } else {
    steps_of(source, destination, steps);
  }
  if (steps.empty()) return false;
  const std::size_t before = route.terms.size();
  if (!join(search, steps, true, route)) return false;
  std::reverse(route.terms.begin() + static_cast<std::ptrdiff_t>(before), route.terms.end());
  return true;
}

}  // namespace tisim
