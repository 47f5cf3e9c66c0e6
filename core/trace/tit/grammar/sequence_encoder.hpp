// Finds the grammar of a sequence: Sequitur with exponents and fast recognition of loops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"

namespace tisim::tit {

// A hash table of node numbers with linear probing. The grammar passes the hash of nodes and their
// equality to each call; a node must not change while it is in the table.
class DigramIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  DigramIndex() : slots_(kMinSlots, kNone) {}

  std::size_t size() const { return size_; }
  std::size_t memory() const { return slots_.capacity() * sizeof(std::uint32_t); }

  // The node in the table that equals one with this hash, or kNone.
  template <class IsEqual>
  std::uint32_t find(std::uint64_t hash, const IsEqual& is_equal) const {
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      if (slots_[at] == kNone || is_equal(slots_[at])) return slots_[at];
    }
  }

  template <class HashOf>
  void insert(std::uint32_t node, const HashOf& hash_of) {
    if (2 * (size_ + 1) > slots_.size()) grow(hash_of);
    put(node, hash_of(node));
    ++size_;
  }

  // Does nothing if the node is not in the table.
  template <class HashOf>
  void erase(std::uint32_t node, const HashOf& hash_of) {
    std::size_t hole = hash_of(node) & mask();
    for (; slots_[hole] != node; hole = (hole + 1) & mask()) {
      if (slots_[hole] == kNone) return;
    }
    --size_;
    // Later ones of the same cluster move up, so that no search stops early at a hole.
    for (std::size_t at = (hole + 1) & mask(); slots_[at] != kNone; at = (at + 1) & mask()) {
      const std::size_t home = hash_of(slots_[at]) & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = kNone;
  }

 private:
  static constexpr std::size_t kMinSlots = 32;

  std::size_t mask() const { return slots_.size() - 1; }

  void put(std::uint32_t node, std::uint64_t hash) {
    std::size_t at = hash & mask();
    while (slots_[at] != kNone) at = (at + 1) & mask();
    slots_[at] = node;
  }

  template <class HashOf>
  void grow(const HashOf& hash_of) {
    std::vector<std::uint32_t> old(2 * slots_.size(), kNone);
    old.swap(slots_);
    for (const std::uint32_t node : old) {
      if (node != kNone) put(node, hash_of(node));
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t size_ = 0;
};

// A grammar that grows at its end: Sequitur (Nevill-Manning and Witten, 1997) with exponents.

// Invariants between calls, checked by verify():
// - neighbours have different symbols, unless their exponents together exceed 32 bits;
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
  // Repeats the last item of the sequence `times` more times.
  void repeat_last(std::uint64_t times);

  // A held rule stays valid as a symbol, even without a use, until it is released.
  void hold(std::uint32_t rule) { ++rules_[rule].holds; }
  void release(std::uint32_t rule);

  bool empty() const { return nodes_[rules_[0].guard].next == rules_[0].guard; }
  // The last node of the sequence, which must not be empty.
  NodeId last() const { return nodes_[rules_[0].guard].prev; }
  NodeId first_of(std::uint32_t rule) const { return nodes_[rules_[rule].guard].next; }
  NodeId next_of(NodeId node) const { return nodes_[node].next; }
  bool is_item(NodeId node) const { return nodes_[node].exponent != 0; }
  Item item(NodeId node) const { return {nodes_[node].symbol, nodes_[node].exponent}; }

  Grammar grammar() const;
  // Total number of items in all rules.
  std::size_t items() const { return nodes_.size() - free_nodes_ - (rules_.size() - free_rules_); }
  // Bytes.
  std::size_t memory() const;
  // The error, or an empty text.
  const char* verify() const;

 private:
  static constexpr NodeId kNone = DigramIndex::kNone;

  // An item of a rule, or the guard that closes the ring of a rule's items: exponent 0, and the
  // number of the rule as the symbol. The uses of a rule form a separate list.
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
  // The number of the rule that consists of just the digram at this node, or 0.
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
  void inline_rule(std::uint32_t rule);
  void inline_single_item(std::uint32_t rule);

  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  DigramIndex index_;
  NodeId free_node_ = kNone;         // head of a list through `next`
  std::uint32_t free_rule_ = kNone;  // head of a list through `first_use`
  std::size_t free_nodes_ = 0, free_rules_ = 0;
  std::vector<NodeId> changed_;          // digrams that may be missing in the index, or duplicated
  std::vector<std::uint32_t> suspects_;  // rules that may be used once or have a single item
};

// Follows the repetitions of a loop at the end of a grammar without changing the grammar.

// Positioned in the last item of a sequence, a repeated rule, before the terminal that would start
// or continue another repetition. All calls must pass the same grammar, which must not change while
// the cursor is active.
class LoopCursor {
 public:
  bool active() const { return !path_.empty(); }
  // If the sequence ends with a repeated rule, moves to its start and returns true.
  bool start(const Sequitur& grammar);
  void stop() { path_.clear(); }

  // Passes this terminal if it is the expected one.
  bool pass(std::uint32_t terminal, const Sequitur& grammar) {
    if (expected_ != terminal) return false;
    if (--run_remaining_ == 0) advance(grammar);
    return true;
  }

  // Passes a whole repetition; the cursor must be at the start of one.
  void repeat() { ++repetitions_; }

  // The number of repetitions passed completely, and the items passed since.
  std::uint64_t repetitions() const { return repetitions_; }
  std::vector<Item> passed(const Sequitur& grammar) const;
  std::size_t memory() const { return path_.capacity() * sizeof(Frame); }

 private:
  // An item, and its remaining repetitions, including the current one.
  struct Frame {
    Sequitur::NodeId node;
    std::uint32_t remaining;
  };

  void enter(Sequitur::NodeId node, const Sequitur& grammar);
  void advance(const Sequitur& grammar);

  std::vector<Frame> path_;     // the loop itself, then an item of each rule down to a terminal
  std::uint32_t expected_ = 0;  // the terminal
  std::uint32_t run_remaining_ = 0;  // its remaining repetitions here
  std::uint64_t repetitions_ = 0;
};

// Turns a stream of terminals into a grammar.

// Runs of a terminal and repetitions of the last loop are counted and added to the grammar when
// they end. So the space and almost the time of a loop do not depend on its number of repetitions.
class SequenceEncoder {
 public:
  void add(std::uint32_t terminal) {
    ++length_;
    if (cursor_.active()) {
      if (cursor_.pass(terminal, grammar_)) return;
      leave_loop();
      if (run_.exponent == 0 && enter_loop(terminal)) return;
    }
    add_to_run(terminal);
  }

  // The same for many terminals. Repetitions of a loop are compared as a whole.
  void add_all(const std::uint32_t* terminals, std::size_t size);

  std::uint64_t length() const { return length_; }
  // Returns the grammar of the sequence and clears the encoder.
  Grammar take();
  // The same, but the encoder continues. The grammar may be larger than that of take() by the last
  // repetition of the last loop.
  Grammar snapshot() const;
  // Number of items of the grammar so far.
  std::size_t items() const { return grammar_.items(); }
  // Bytes, without the encoder itself.
  std::size_t memory() const { return grammar_.memory() + cursor_.memory(); }
  // The error, or an empty text.
  const char* verify() const { return grammar_.verify(); }

 private:
  void add_to_run(std::uint32_t terminal);
  void end_run();
  bool enter_loop(std::uint32_t terminal);
  void leave_loop();

  Sequitur grammar_;
  LoopCursor cursor_;
  Item run_ = {0, 0};  // the last, equal terminals, not yet in the grammar; exponent 0: none
  std::uint64_t length_ = 0;
  std::uint64_t loop_start_ = 0;  // the length when the cursor was started
};

// The grammars of earlier sequences.

// Ranks of a class have equal sequences: only the first of them needs an encoder. Keeps the last
// sequence, and some earlier ones while they are short.
class KnownGrammars {
 public:
  // The result of a SequenceEncoder for the sequence.
  Grammar of(const std::uint32_t* sequence, std::size_t size) {
    const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.sequence.size() == size &&
             std::equal(sequence, sequence + size, kept.sequence.data());
    });
    if (known != kept_.end()) return known->grammar;
    SequenceEncoder encoder;
    encoder.add_all(sequence, size);
    Kept made{{sequence, sequence + size}, encoder.take()};
    length_ += made.sequence.size();
    std::size_t dropped = 0;
    while (dropped < kept_.size() &&
           (length_ > kMaxKept || kept_.size() - dropped == kMaxSequences)) {
      length_ -= kept_[dropped++].sequence.size();
    }
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(dropped));
    kept_.push_back(std::move(made));
    return kept_.back().grammar;
  }

  Grammar of(const std::vector<std::uint32_t>& sequence) {
    return of(sequence.data(), sequence.size());
  }

 private:
  static constexpr std::size_t kMaxSequences = 32;               // sequences
  static constexpr std::size_t kMaxKept = std::size_t{1} << 20;  // terminals, without the last

  struct Kept {
    std::vector<std::uint32_t> sequence;
    Grammar grammar;
  };
  std::vector<Kept> kept_;
  std::size_t length_ = 0;
};

}  // namespace tisim::tit
