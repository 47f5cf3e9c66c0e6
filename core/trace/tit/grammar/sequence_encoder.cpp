#include "trace/tit/grammar/sequence_encoder.hpp"

#include <algorithm>
#include <vector>

namespace tisim::tit {

namespace {

constexpr std::uint64_t kMaxItemExponent = 0xffffffff;
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

// Call before each change of the node, of its successor, or of the link between them.
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
  const std::uint64_t more = std::min(times, kMaxItemExponent - nodes_[node].exponent);
  if (more > 0) {
    const NodeId before = nodes_[node].prev;
    erase_digram(before);
    nodes_[node].exponent += static_cast<std::uint32_t>(more);
    changed_.push_back(before);
  }
  // Held, because the previous digram may become a rule and remove the last use.
  const bool is_rule = (symbol & 1) != 0;
  times -= more;
  if (is_rule && times > 0) hold(symbol >> 1);
  settle();
  for (std::uint64_t part = 0; times > 0; times -= part) {
    part = std::min(times, kMaxItemExponent);
    append({symbol, static_cast<std::uint32_t>(part)});
    if (is_rule && part == times) release(symbol >> 1);
  }
}

void Sequitur::release(std::uint32_t rule) {
  --rules_[rule].holds;
  suspects_.push_back(rule);
  settle();
}

// Restores the invariants between calls. Numbers of nodes and rules that were freed or reused in
// the meantime may still be listed: checking them again is harmless.
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
    if (std::uint64_t{left.exponent} + right.exponent <= kMaxItemExponent) merge(node);
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

// Merges two neighbours with the same symbol.
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

// Handles a digram that occurs twice; the two cannot overlap, since neighbours differ.
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

// Replaces the digram at `node` by a use of a rule.
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
    inline_single_item(number);
  } else if (rule.uses == 1 && nodes_[rule.first_use].exponent == 1) {
    inline_rule(number);
  }
}

// Replaces the only use of a rule by the rule's items.
void Sequitur::inline_rule(std::uint32_t rule) {
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

// Replaces all uses of a rule with a single repeated item by that item.
void Sequitur::inline_single_item(std::uint32_t rule) {
  const NodeId single = nodes_[rules_[rule].guard].next;
  const Item content = item(single);
  for (NodeId use = rules_[rule].first_use; use != kNone; use = nodes_[use].next_use) {
    if (std::uint64_t{nodes_[use].exponent} * content.exponent > kMaxItemExponent) return;
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
    std::uint32_t rule;  // number in the result
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

// Checks the invariants of Sequitur between calls.

const char* Sequitur::verify() const {
  constexpr std::uint64_t kSumsFit = 0xffffffff;  // items with larger sums stay separate
  std::size_t digrams = 0;
  std::size_t all_items = 0;
  for (std::uint32_t number = 0; number < rules_.size(); ++number) {
    const Rule& rule = rules_[number];
    if (rule.guard == kNone) continue;
    if (nodes_[rule.guard].symbol != number || !is_guard(rule.guard)) return "a guard is lost";
    std::size_t items = 0;
    for (NodeId node = first_of(number); !is_guard(node); node = nodes_[node].next, ++items) {
      const NodeId next = nodes_[node].next;
      if (nodes_[next].prev != node) return "a list of items is broken";
      if (item(node).is_rule() && rules_[item(node).number()].guard == kNone) {
        return "a freed rule is used";
      }
      if (is_guard(next)) continue;
      if (nodes_[node].symbol == nodes_[next].symbol) {
        if (std::uint64_t{nodes_[node].exponent} + nodes_[next].exponent <= kSumsFit) {
          return "equal neighbours are not one";
        }
        continue;
      }
      ++digrams;
      if (index_.find(hash(node), [this, node](NodeId other) { return equal(node, other); }) !=
          node) {
        return "a digram occurs twice, or is not in the index";
      }
    }
    all_items += items;
    if (number == 0) continue;
    std::size_t uses = 0;
    std::uint64_t largest = 0;
    for (NodeId use = rule.first_use; use != kNone; use = nodes_[use].next_use, ++uses) {
      if (item(use) != Item::rule(number, nodes_[use].exponent)) return "a use is none";
      largest = std::max<std::uint64_t>(largest, nodes_[use].exponent);
    }
    if (uses != rule.uses) return "uses are counted wrong";
    if (rule.holds > 0) return "a rule is still held";
    if (uses == 0 || (uses == 1 && largest == 1)) return "a rule is used less than twice";
    if (items < 2 && largest * nodes_[first_of(number)].exponent <= kSumsFit) {
      return "a rule has less than two items";
    }
  }
  if (digrams != index_.size()) return "the index has digrams that are not in the grammar";
  if (all_items != this->items()) return "items are lost";
  return "";
}

bool LoopCursor::start(const Sequitur& grammar) {
  path_.clear();
  if (grammar.empty()) return false;
  const Item loop = grammar.item(grammar.last());
  if (!loop.is_rule() || loop.exponent < 2) return false;
  repetitions_ = 0;
  path_.push_back({grammar.last(), 1});
  enter(grammar.first_of(loop.number()), grammar);
  return true;
}

// Descends to the first terminal of an item.
void LoopCursor::enter(Sequitur::NodeId node, const Sequitur& grammar) {
  for (;;) {
    const Item item = grammar.item(node);
    path_.push_back({node, item.exponent});
    if (!item.is_rule()) {
      expected_ = item.number();
      run_remaining_ = item.exponent;
      return;
    }
    node = grammar.first_of(item.number());
  }
}

// Advances from a terminal, passed with all its repetitions, to the next one.
void LoopCursor::advance(const Sequitur& grammar) {
  for (;;) {
    const Sequitur::NodeId next = grammar.next_of(path_.back().node);
    path_.pop_back();
    if (grammar.is_item(next)) return enter(next, grammar);
    Frame& around = path_.back();
    const std::uint32_t rule = grammar.item(around.node).number();
    if (path_.size() == 1) {
      ++repetitions_;
      return enter(grammar.first_of(rule), grammar);
    }
    if (--around.remaining > 0) return enter(grammar.first_of(rule), grammar);
  }
}

std::vector<Item> LoopCursor::passed(const Sequitur& grammar) const {
  std::vector<Item> items;
  for (std::size_t level = 1; level < path_.size(); ++level) {
    const Item around = grammar.item(path_[level - 1].node);
    Sequitur::NodeId node = grammar.first_of(around.number());
    for (; node != path_[level].node; node = grammar.next_of(node)) {
      items.push_back(grammar.item(node));
    }
    Item partly = grammar.item(node);
    partly.exponent -= partly.is_rule() ? path_[level].remaining : run_remaining_;
    if (partly.exponent > 0) items.push_back(partly);
  }
  return items;
}

void SequenceEncoder::add_all(const std::uint32_t* terminals, std::size_t size) {
  const std::uint32_t* at = terminals;
  const std::uint32_t* const end = terminals + size;
  while (at != end) {
    const std::uint64_t before = cursor_.repetitions();
    add(*at++);
    if (!cursor_.active() || cursor_.repetitions() <= before) continue;
    // The cursor is again before a repetition.
    const std::uint64_t length = (length_ - loop_start_) / cursor_.repetitions();
    if (length > static_cast<std::uint64_t>(at - terminals)) continue;
    const auto once = static_cast<std::ptrdiff_t>(length);
    for (; end - at >= once && std::equal(at - once, at, at); at += once) {
      cursor_.repeat();
      length_ += length;
    }
  }
}

void SequenceEncoder::add_to_run(std::uint32_t terminal) {
  const Item next = Item::terminal(terminal);
  if (run_.exponent > 0 && run_.symbol == next.symbol && run_.exponent < 0xffffffff) {
    ++run_.exponent;
    return;
  }
  end_run();
  if (!enter_loop(terminal)) run_ = next;
}

void SequenceEncoder::end_run() {
  if (run_.exponent == 0) return;
  grammar_.append(run_);
  run_.exponent = 0;
}

bool SequenceEncoder::enter_loop(std::uint32_t terminal) {
  if (!cursor_.start(grammar_)) return false;
  loop_start_ = length_ - 1;
  if (cursor_.pass(terminal, grammar_)) return true;
  cursor_.stop();
  return false;
}

// Adds the items that the cursor has passed to the grammar. The rules among them are held:
// otherwise adding one item may remove a rule that is needed later.
void SequenceEncoder::leave_loop() {
  const std::vector<Item> rest = cursor_.passed(grammar_);
  const std::uint64_t repetitions = cursor_.repetitions();
  cursor_.stop();
  for (const Item item : rest) {
    if (item.is_rule()) grammar_.hold(item.number());
  }
  if (repetitions > 0) grammar_.repeat_last(repetitions);
  for (const Item item : rest) {
    if (!item.is_rule()) {
      end_run();
      run_ = item;
      continue;
    }
    end_run();
    grammar_.append(item);
    grammar_.release(item.number());
  }
}

Grammar SequenceEncoder::take() {
  if (cursor_.active()) leave_loop();
  end_run();
  Grammar grammar = grammar_.grammar();
  grammar_.clear();
  length_ = 0;
  return grammar;
}

Grammar SequenceEncoder::snapshot() const {
  SequenceEncoder copy(*this);
  return copy.take();
}

}  // namespace tisim::tit
