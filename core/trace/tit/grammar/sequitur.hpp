// A grammar that grows at its end: Sequitur (Nevill-Manning and Witten, 1997) with exponents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/grammar/digram_index.hpp"
#include "trace/tit/grammar/grammar.hpp"

namespace tisim {
namespace tit {

// Holds between calls, and verify() checks it:
// - neighbours differ in their symbol, unless their exponents together exceed 32 bits;
// - no two neighbours occur twice, with the same exponents, in the whole grammar;
// - a rule has at least two items (unless multiplying exponents would exceed 32 bits), and is used
//   at least twice or with an exponent of at least 2.
// A call of append() takes amortised constant time: each change lowers 2 * items - rules.
class Sequitur {
 public:
  using NodeId = std::uint32_t;

  Sequitur() { clear(); }
  void clear();

  // Adds an item to the sequence; a rule must be one of this grammar.
  void append(Item item);
  // The last item of the sequence once more, so many times.
  void repeat_last(std::uint64_t times);

  // A rule that is held stays as a symbol, even without a use, until it is released.
  void hold(std::uint32_t rule) { ++rules_[rule].holds; }
  void release(std::uint32_t rule);

  bool empty() const { return nodes_[rules_[0].guard].next == rules_[0].guard; }
  // Of the sequence, which must not be empty.
  NodeId last() const { return nodes_[rules_[0].guard].prev; }
  NodeId first_of(std::uint32_t rule) const { return nodes_[rules_[rule].guard].next; }
  NodeId next_of(NodeId node) const { return nodes_[node].next; }
  bool is_item(NodeId node) const { return nodes_[node].exponent != 0; }
  Item item(NodeId node) const { return {nodes_[node].symbol, nodes_[node].exponent}; }

  Grammar grammar() const;
  // All items of all rules.
  std::size_t items() const { return nodes_.size() - free_nodes_ - (rules_.size() - free_rules_); }
  // Bytes.
  std::size_t memory() const;
  // What is broken, or an empty text.
  const char* verify() const;

 private:
  static constexpr NodeId kNone = DigramIndex::kNone;

  // An item of a rule, or the guard that closes the ring of a rule's items: exponent 0, and the
  // number of the rule as the symbol. Uses of a rule are a list of their own.
  struct Node {
    std::uint32_t symbol, exponent;
    NodeId prev, next;
    NodeId prev_use, next_use;
  };
  struct Rule {
    NodeId guard;  // kNone: the number is free
    NodeId first_use;
    std::uint32_t uses, holds;
  };

  bool is_guard(NodeId node) const { return nodes_[node].exponent == 0; }
  bool is_digram(NodeId node) const;
  std::uint64_t hash(NodeId node) const;
  bool equal(NodeId a, NodeId b) const;
  // The number of the rule of which the digram at this node is all, or 0.
  std::uint32_t whole_rule(NodeId node) const;

  NodeId new_node();
  NodeId new_item(Item item);
  void free_node(NodeId node);
  void free_item(NodeId node);
  std::uint32_t new_rule();
  void free_rule(std::uint32_t rule);
  void set_item(NodeId node, Item item);
  void add_use(NodeId node);
  void remove_use(NodeId node);
  void link(NodeId left, NodeId right);

  void insert_digram(NodeId node);
  void erase_digram(NodeId node);
  void settle();
  void review_digram(NodeId node);
  void review_rule(std::uint32_t rule);
  void merge(NodeId node);
  void match(NodeId node, NodeId indexed);
  void replace(NodeId node, std::uint32_t rule);
  void put_in_place(std::uint32_t rule);
  void put_single_item_in_place(std::uint32_t rule);

  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  DigramIndex index_;
  NodeId free_node_ = kNone;         // the first of a list through `next`
  std::uint32_t free_rule_ = kNone;  // the first of a list through `first_use`
  std::size_t free_nodes_ = 0, free_rules_ = 0;
  std::vector<NodeId> changed_;          // digrams that may be missing in the index, or twice there
  std::vector<std::uint32_t> suspects_;  // rules that may be used once, or have a single item
};

}  // namespace tit
}  // namespace tisim
