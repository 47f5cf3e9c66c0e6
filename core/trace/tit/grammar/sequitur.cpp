#include "trace/tit/grammar/sequitur.hpp"

#include <algorithm>

namespace tisim {
namespace tit {
namespace {

constexpr std::uint64_t kLargestExponent = 0xffffffff;
constexpr std::uint32_t kFreeSymbol = 0xffffffff;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0xd6e8feb86659fd93u) * 0xff51afd7ed558ccdu;
  x ^= x >> 32;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 29);
}

}  // namespace

void Sequitur::clear() {
  nodes_.clear();
  rules_.clear();
  index_ = DigramIndex();
  free_node_ = free_rule_ = kNone;
  free_nodes_ = free_rules_ = 0;
  new_rule();
}

bool Sequitur::is_digram(NodeId node) const {
  const Node& left = nodes_[node];
  const Node& right = nodes_[left.next];
  return left.exponent != 0 && right.exponent != 0 && left.symbol != right.symbol;
}

std::uint64_t Sequitur::hash(NodeId node) const {
  const Node& left = nodes_[node];
  const Node& right = nodes_[left.next];
  return mixed(std::uint64_t{left.symbol} << 32 | left.exponent,
               std::uint64_t{right.symbol} << 32 | right.exponent);
}

bool Sequitur::equal(NodeId a, NodeId b) const {
  return item(a) == item(b) && item(nodes_[a].next) == item(nodes_[b].next);
}

std::uint32_t Sequitur::whole_rule(NodeId node) const {
  const Node& before = nodes_[nodes_[node].prev];
  const Node& after = nodes_[nodes_[nodes_[node].next].next];
  return before.exponent == 0 && after.exponent == 0 ? before.symbol : 0;
}

Sequitur::NodeId Sequitur::new_node() {
  NodeId node = free_node_;
  if (node == kNone) {
    node = static_cast<NodeId>(nodes_.size());
    nodes_.push_back({});
  } else {
    free_node_ = nodes_[node].next;
    --free_nodes_;
  }
  return node;
}

Sequitur::NodeId Sequitur::new_item(Item item) {
  const NodeId node = new_node();
  nodes_[node] = {item.symbol, item.exponent, kNone, kNone, kNone, kNone};
  add_use(node);
  return node;
}

void Sequitur::free_node(NodeId node) {
  nodes_[node] = {kFreeSymbol, 0, kNone, free_node_, kNone, kNone};
  free_node_ = node;
  ++free_nodes_;
}

void Sequitur::free_item(NodeId node) {
  remove_use(node);
  free_node(node);
}

std::uint32_t Sequitur::new_rule() {
  std::uint32_t rule = free_rule_;
  if (rule == kNone) {
    rule = static_cast<std::uint32_t>(rules_.size());
    rules_.push_back({});
  } else {
    free_rule_ = rules_[rule].first_use;
    --free_rules_;
  }
  const NodeId guard = new_node();
  nodes_[guard] = {rule, 0, guard, guard, kNone, kNone};
  rules_[rule] = {guard, kNone, 0, 0};
  return rule;
}

void Sequitur::free_rule(std::uint32_t rule) {
  free_node(rules_[rule].guard);
  rules_[rule] = {kNone, free_rule_, 0, 0};
  free_rule_ = rule;
  ++free_rules_;
}

void Sequitur::set_item(NodeId node, Item item) {
  remove_use(node);
  nodes_[node].symbol = item.symbol;
  nodes_[node].exponent = item.exponent;
  add_use(node);
}

void Sequitur::add_use(NodeId node) {
  if (!item(node).is_rule()) return;
  Rule& rule = rules_[item(node).number()];
  ++rule.uses;
  nodes_[node].prev_use = kNone;
  nodes_[node].next_use = rule.first_use;
  if (rule.first_use != kNone) nodes_[rule.first_use].prev_use = node;
  rule.first_use = node;
}

void Sequitur::remove_use(NodeId node) {
  if (!item(node).is_rule()) return;
  const std::uint32_t number = item(node).number();
  Rule& rule = rules_[number];
  const Node& use = nodes_[node];
  (use.prev_use == kNone ? rule.first_use : nodes_[use.prev_use].next_use) = use.next_use;
  if (use.next_use != kNone) nodes_[use.next_use].prev_use = use.prev_use;
  if (--rule.uses <= 1) suspects_.push_back(number);
}

void Sequitur::link(NodeId left, NodeId right) {
  nodes_[left].next = right;
  nodes_[right].prev = left;
}

void Sequitur::insert_digram(NodeId node) {
  index_.insert(node, [this](NodeId other) { return hash(other); });
}

// Comes before each change of the node, of the one after it, or of what is after it.
void Sequitur::erase_digram(NodeId node) {
  if (is_digram(node)) index_.erase(node, [this](NodeId other) { return hash(other); });
}

void Sequitur::append(Item item) {
  const NodeId guard = rules_[0].guard;
  const NodeId before = nodes_[guard].prev;
  const NodeId node = new_item(item);
  link(before, node);
  link(node, guard);
  changed_.push_back(before);
  settle();
}

void Sequitur::repeat_last(std::uint64_t times) {
  const NodeId node = last();
  const std::uint32_t symbol = nodes_[node].symbol;
  const std::uint64_t more = std::min(times, kLargestExponent - nodes_[node].exponent);
  if (more > 0) {
    const NodeId before = nodes_[node].prev;
    erase_digram(before);
    nodes_[node].exponent += static_cast<std::uint32_t>(more);
    changed_.push_back(before);
  }
  // Held, because the digram before may become a rule and take the last use along.
  const bool is_rule = (symbol & 1) != 0;
  times -= more;
  if (is_rule && times > 0) hold(symbol >> 1);
  settle();
  for (std::uint64_t part = 0; times > 0; times -= part) {
    part = std::min(times, kLargestExponent);
    append({symbol, static_cast<std::uint32_t>(part)});
    if (is_rule && part == times) release(symbol >> 1);
  }
}

void Sequitur::release(std::uint32_t rule) {
  --rules_[rule].holds;
  suspects_.push_back(rule);
  settle();
}

// Repairs what holds between calls. Numbers of nodes and rules that were freed meanwhile, or used
// again for something else, may still be listed: looking once more does no harm.
void Sequitur::settle() {
  for (;;) {
    if (!suspects_.empty()) {
      const std::uint32_t rule = suspects_.back();
      suspects_.pop_back();
      review_rule(rule);
    } else if (!changed_.empty()) {
      const NodeId node = changed_.back();
      changed_.pop_back();
      review_digram(node);
    } else {
      return;
    }
  }
}

void Sequitur::review_digram(NodeId node) {
  if (is_guard(node)) return;
  const Node& left = nodes_[node];
  const Node& right = nodes_[left.next];
  if (right.exponent == 0) return;
  if (left.symbol == right.symbol) {
    if (std::uint64_t{left.exponent} + right.exponent <= kLargestExponent) merge(node);
    return;
  }
  const NodeId indexed =
      index_.find(hash(node), [this, node](NodeId other) { return equal(node, other); });
  if (indexed == kNone) {
    insert_digram(node);
  } else if (indexed != node) {
    match(node, indexed);
  }
}

// Two neighbours with the same symbol become one.
void Sequitur::merge(NodeId node) {
  const NodeId before = nodes_[node].prev;
  const NodeId second = nodes_[node].next;
  const NodeId after = nodes_[second].next;
  erase_digram(before);
  erase_digram(second);
  nodes_[node].exponent += nodes_[second].exponent;
  link(node, after);
  free_item(second);
  changed_.push_back(before);
  changed_.push_back(node);
  if (is_guard(before) && is_guard(after)) suspects_.push_back(nodes_[before].symbol);
}

// The same digram stands at two places; they cannot overlap, since neighbours differ.
void Sequitur::match(NodeId node, NodeId indexed) {
  if (const std::uint32_t rule = whole_rule(indexed)) {
    replace(node, rule);
  } else if (const std::uint32_t same = whole_rule(node)) {
    replace(indexed, same);
    insert_digram(node);
  } else {
    const std::uint32_t made = new_rule();
    const NodeId left = new_item(item(node));
    const NodeId right = new_item(item(nodes_[node].next));
    const NodeId guard = rules_[made].guard;
    link(guard, left);
    link(left, right);
    link(right, guard);
    replace(indexed, made);
    replace(node, made);
    insert_digram(left);
  }
}

// The digram at `node` becomes one use of a rule.
void Sequitur::replace(NodeId node, std::uint32_t rule) {
  const NodeId before = nodes_[node].prev;
  const NodeId second = nodes_[node].next;
  const NodeId after = nodes_[second].next;
  erase_digram(before);
  erase_digram(node);
  erase_digram(second);
  set_item(node, Item::rule(rule));
  link(node, after);
  free_item(second);
  changed_.push_back(before);
  changed_.push_back(node);
  if (is_guard(before) && is_guard(after)) suspects_.push_back(nodes_[before].symbol);
}

void Sequitur::review_rule(std::uint32_t number) {
  const Rule& rule = rules_[number];
  if (number == 0 || rule.guard == kNone || rule.holds > 0) return;
  const Node& guard = nodes_[rule.guard];
  if (guard.next == guard.prev) {
    put_single_item_in_place(number);
  } else if (rule.uses == 1 && nodes_[rule.first_use].exponent == 1) {
    put_in_place(number);
  }
}

// The items of a rule that is used once stand where it was used.
void Sequitur::put_in_place(std::uint32_t rule) {
  const NodeId use = rules_[rule].first_use;
  const NodeId guard = rules_[rule].guard;
  const NodeId before = nodes_[use].prev;
  const NodeId after = nodes_[use].next;
  const NodeId first = nodes_[guard].next;
  const NodeId last = nodes_[guard].prev;
  erase_digram(before);
  erase_digram(use);
  link(before, first);
  link(last, after);
  free_node(use);
  free_rule(rule);
  changed_.push_back(before);
  changed_.push_back(last);
}

// A rule that is one item, repeated, is that item wherever it is used.
void Sequitur::put_single_item_in_place(std::uint32_t rule) {
  const NodeId single = nodes_[rules_[rule].guard].next;
  const Item content = item(single);
  for (NodeId use = rules_[rule].first_use; use != kNone; use = nodes_[use].next_use) {
    if (std::uint64_t{nodes_[use].exponent} * content.exponent > kLargestExponent) return;
  }
  for (NodeId use = rules_[rule].first_use; use != kNone;) {
    const NodeId next_use = nodes_[use].next_use;
    const NodeId before = nodes_[use].prev;
    erase_digram(before);
    erase_digram(use);
    nodes_[use].symbol = content.symbol;
    nodes_[use].exponent *= content.exponent;
    add_use(use);
    changed_.push_back(before);
    changed_.push_back(use);
    use = next_use;
  }
  free_item(single);
  free_rule(rule);
}

std::size_t Sequitur::memory() const {
  return nodes_.capacity() * sizeof(Node) + rules_.capacity() * sizeof(Rule) + index_.memory() +
         changed_.capacity() * sizeof(NodeId) + suspects_.capacity() * sizeof(std::uint32_t);
}

Grammar Sequitur::grammar() const {
  struct Place {
    std::uint32_t rule;  // in the result
    NodeId next;
  };
  Grammar grammar;
  std::vector<std::uint32_t> number_of(rules_.size(), kNone);
  std::vector<Place> path = {{0, first_of(0)}};
  number_of[0] = 0;
  while (!path.empty()) {
    const Place place = path.back();
    if (is_guard(place.next)) {
      path.pop_back();
      continue;
    }
    path.back().next = nodes_[place.next].next;
    Item copy = item(place.next);
    if (copy.is_rule()) {
      const std::uint32_t old = copy.number();
      if (number_of[old] == kNone) {
        number_of[old] = static_cast<std::uint32_t>(grammar.rules.size());
        grammar.rules.emplace_back();
        path.push_back({number_of[old], first_of(old)});
      }
      copy.symbol = 2 * number_of[old] + 1;
    }
    grammar.rules[place.rule].push_back(copy);
  }
  return grammar;
}

}  // namespace tit
}  // namespace tisim
