#include "mpi/matcher.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

std::uint64_t Matcher::hash(std::int32_t source, std::int32_t destination, std::int32_t tag,
                            std::int32_t context) {
  const auto u = [](std::int32_t x) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(x));
  };
  std::uint64_t h = (u(source) << 32 | u(destination)) * 0x9e3779b97f4a7c15ULL;
  h ^= (u(tag) << 32 | u(context)) * 0xc2b2ae3d27d4eb4fULL;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9ULL;
  return h ^ h >> 32;
}

std::uint64_t Matcher::hash_at(std::int32_t channel) const {
  const Channel& c = channels_[static_cast<std::size_t>(channel)];
  return hash(c.source, c.destination, c.tag, c.context);
}

Channel& Matcher::find_channel(const Pattern& key) {
  recent_ = key;
  recent_channel_ = index_.find(hash(key.source, key.destination, key.tag, key.context),
                                [&](std::int32_t number) {
                                  const Channel& c = channels_[static_cast<std::size_t>(number)];
                                  return Pattern{c.source, c.destination, c.tag, c.context} == key;
                                });
  if (recent_channel_ < 0) add_channel(key);
  return channels_[static_cast<std::size_t>(recent_channel_)];
}

void Matcher::add_channel(const Pattern& key) {
  if (channels_.size() == most_channels_) drop_idle();
  recent_channel_ = static_cast<std::int32_t>(channels_.size());
  channels_.push_back({key.source, key.destination, key.tag, key.context});
  index_.insert(recent_channel_, [this](std::int32_t number) { return hash_at(number); });
  count_channels();
}

void Matcher::count_channels() {
  const std::size_t kept = kKept + kKeptOfRank * inboxes_.size();
  fewest_busy_ = channels_.size() > kept ? channels_.size() / 8 : 0;
}

// Keeps memory proportional to the waiting messages, not to the tags ever used.
void Matcher::drop_idle() {
  std::erase_if(channels_, [](const Channel& channel) { return channel.head < 0; });
  channels_.shrink_to_fit();
  index_.renumber(channels_.size(), [this](std::int32_t number) { return hash_at(number); });
  most_channels_ = std::max(kKept, 2 * channels_.size());
  recent_ = kNobody;
  count_channels();
}

void Matcher::append(Channel& channel, std::int32_t message) {
  messages_[message].next = -1;
  messages_[message].posted = posted_++;
  if (channel.head < 0) {
    channel.head = message;
    ++busy_;
  } else {
    messages_[channel.tail].next = message;
  }
  channel.tail = message;
}

std::int32_t Matcher::pop(Channel& channel) {
  const std::int32_t message = channel.head;
  channel.head = messages_[message].next;
  if (channel.head < 0) {
    --busy_;
    if (busy_ < fewest_busy_) [[unlikely]]
      drop_idle();
  }
  return message;
}

std::int32_t Matcher::take_receive(Channel& exact) {
  const bool here = holds(exact, MessageState::posted_receive);
  Inbox& inbox = inboxes_[static_cast<std::size_t>(exact.destination)];
  if (inbox.wildcards == 0) return here ? pop(exact) : -1;

  // The receive posted first wins, in any channel.
  const Channel key = exact;
  const std::array<std::pair<std::int32_t, std::int32_t>, 3> patterns = {
      {{kAnySource, key.tag}, {key.source, kAnyTag}, {kAnySource, kAnyTag}}};
  std::int32_t best = here ? key.head : -1;
  std::pair<std::int32_t, std::int32_t> where = {key.source, key.tag};
  for (const auto& [source, tag] : patterns) {
    const Channel& other = channel(source, key.destination, tag, key.context);
    if (other.head < 0) continue;
    if (best < 0 ||
        static_cast<std::int32_t>(messages_[other.head].posted - messages_[best].posted) < 0) {
      best = other.head;
      where = {source, tag};
    }
  }
  if (best < 0) return -1;
  if (where.first == kAnySource || where.second == kAnyTag) --inbox.wildcards;
  return pop(channel(where.first, key.destination, where.second, key.context));
}

bool Matcher::fits(const Pattern& pattern, const Message& message) const {
  return message.context == pattern.context &&
         (pattern.source == kAnySource || message.source == pattern.source) &&
         (pattern.tag == kAnyTag || message.tag == pattern.tag);
}

bool Matcher::waits(const BacklogEntry& waiting) const {
  const Message& message = messages_[waiting.message];
  return message.posted == waiting.posted && message.state == MessageState::unexpected;
}

std::int32_t Matcher::find_unexpected(const Pattern& pattern) {
  constexpr int kLong = 32;
  const Inbox& inbox = inboxes_[static_cast<std::size_t>(pattern.destination)];
  if (inbox.has_backlogs) {
    const auto found = backlogs_.find(pattern);
    if (found != backlogs_.end()) {
      Backlog& backlog = found->second;
      while (!backlog.empty() && !waits(backlog.front())) backlog.pop_front();
      return backlog.empty() ? -1 : backlog.front().message;
    }
  }
  int looked_at = 0;
  for (std::int32_t at = inbox.oldest; at >= 0; at = messages_[at].newer) {
    if (fits(pattern, messages_[at])) return at;
    if (++looked_at == kLong) {
      make_backlog(pattern);
      return find_unexpected(pattern);
    }
  }
  return -1;
}

void Matcher::make_backlog(const Pattern& pattern) {
  Backlog& backlog = backlogs_[pattern];
  Inbox& inbox = inboxes_[static_cast<std::size_t>(pattern.destination)];
  inbox.has_backlogs = true;
  for (std::int32_t at = inbox.oldest; at >= 0; at = messages_[at].newer) {
    if (fits(pattern, messages_[at])) backlog.push_back({at, messages_[at].posted});
  }
}

void Matcher::add_to_backlogs(std::int32_t index) {
  const Message& m = messages_[index];
  const Inbox& inbox = inboxes_[static_cast<std::size_t>(m.destination)];
  for (const auto& [source, tag] : {std::pair{kAnySource, m.tag}, std::pair{m.source, kAnyTag},
                                    std::pair{kAnySource, kAnyTag}}) {
    const auto found = backlogs_.find({source, m.destination, tag, m.context});
    if (found == backlogs_.end()) continue;
    Backlog& backlog = found->second;
    backlog.push_back({index, m.posted});
    if (backlog.size() > 2 * static_cast<std::size_t>(inbox.count) + 64) {
      std::erase_if(backlog, [this](const BacklogEntry& waiting) { return !waits(waiting); });
    }
  }
}

std::int32_t Matcher::peek(std::int32_t source, std::int32_t destination, std::int32_t tag,
                           std::int32_t context) {
  if (source == kAnySource || tag == kAnyTag) {
    return find_unexpected({source, destination, tag, context});
  }
  const Channel& exact = channel(source, destination, tag, context);
  return holds(exact, MessageState::unexpected) ? exact.head : -1;
}

std::int32_t Matcher::take_message(std::int32_t source, std::int32_t destination, std::int32_t tag,
                                   std::int32_t context) {
  const std::int32_t found = peek(source, destination, tag, context);
  if (found < 0) return -1;
  const Message& m = messages_[found];
  pop(channel(m.source, m.destination, m.tag, m.context));
  unlink_unexpected(m);
  return found;
}

// Removes a message from the list of its destination.
void Matcher::unlink_unexpected(const Message& m) {
  Inbox& inbox = inboxes_[static_cast<std::size_t>(m.destination)];
  (m.older >= 0 ? messages_[m.older].newer : inbox.oldest) = m.newer;
  (m.newer >= 0 ? messages_[m.newer].older : inbox.newest) = m.older;
  --inbox.count;
}

void Matcher::withdraw(std::int32_t index) {
  Message& m = messages_[index];
  const bool receives = m.state == MessageState::posted_receive;
  Channel& where = channel(m.source, m.destination, m.tag, m.context);
  if (where.head == index) {
    pop(where);
  } else {
    std::int32_t before = m.older;
    if (!receives) {
      for (before = where.head; messages_[before].next != index;) before = messages_[before].next;
    }
    messages_[before].next = m.next;
    if (receives && m.next >= 0) messages_[m.next].older = before;
    if (where.tail == index) where.tail = before;
  }
  if (!receives) {
    unlink_unexpected(m);
  } else if (m.source == kAnySource || m.tag == kAnyTag) {
    --inboxes_[static_cast<std::size_t>(m.destination)].wildcards;
  }
  m.state = MessageState::matched;
}

void Matcher::post_receive(std::int32_t index) {
  const Message& m = messages_[index];
  if (m.source == kAnySource || m.tag == kAnyTag) {
    ++inboxes_[static_cast<std::size_t>(m.destination)].wildcards;
  }
  Channel& where = channel(m.source, m.destination, m.tag, m.context);
  messages_[index].older = where.tail;
  append(where, index);
}

void Matcher::leave_unexpected(std::int32_t index) {
  Message& m = messages_[index];
  append(channel(m.source, m.destination, m.tag, m.context), index);
  Inbox& inbox = inboxes_[static_cast<std::size_t>(m.destination)];
  m.older = inbox.newest;
  m.newer = -1;
  (inbox.newest >= 0 ? messages_[inbox.newest].newer : inbox.oldest) = index;
  inbox.newest = index;
  ++inbox.count;
  if (inbox.has_backlogs) add_to_backlogs(index);
}

void Matcher::verify() const {
  const std::vector<bool> free = messages_.free_numbers();
  ensure(messages_.is_consistent(), "a message is released once");
  const auto in_use = [&](std::int32_t index) {
    return index >= 0 && static_cast<std::size_t>(index) < free.size() &&
           !free[static_cast<std::size_t>(index)];
  };
  std::vector<std::int32_t> wildcards(inboxes_.size());
  std::size_t in_channels = 0;
  std::size_t busy = 0;
  for (const Channel& channel : channels_) {
    busy += channel.head >= 0 ? 1 : 0;
    for (std::int32_t at = channel.head; at >= 0; at = messages_[at].next) {
      ensure(in_use(at), "waiting messages are in use");
      const Message& message = messages_[at];
      ensure(++in_channels <= messages_.in_use(), "the list of a channel has an end");
      ensure(message.source == channel.source && message.destination == channel.destination &&
                 message.tag == channel.tag && message.context == channel.context,
             "a message waits in the channel of its key");
      ensure(
          message.state == messages_[channel.head].state && message.state != MessageState::matched,
          "a channel contains waiting sends or waiting receives, never both");
      ensure(message.next >= 0 || at == channel.tail, "the last message of a channel is its tail");
      ensure(message.next < 0 || message.state != MessageState::posted_receive ||
                 messages_[message.next].older == at,
             "a posted receive links to its predecessor");
      ensure(message.next < 0 ||
                 static_cast<std::int32_t>(messages_[message.next].posted - message.posted) > 0,
             "messages wait in a channel in posting order");
      const bool wildcard = channel.source == kAnySource || channel.tag == kAnyTag;
      ensure(!wildcard || message.state == MessageState::posted_receive, "no send has a wildcard");
      wildcards.at(static_cast<std::size_t>(channel.destination)) += wildcard ? 1 : 0;
    }
  }
  ensure(busy == busy_, "channels with waiting messages are counted");
  std::size_t waiting = 0;
  for (std::size_t at = 0; at < free.size(); ++at) {
    const Message& message = messages_[static_cast<std::int32_t>(at)];
    waiting += !free[at] && message.state != MessageState::matched ? 1 : 0;
  }
  ensure(waiting == in_channels, "every unmatched message waits in a channel");
  for (std::size_t i = 0; i < inboxes_.size(); ++i) {
    const Inbox& inbox = inboxes_[i];
    ensure(inbox.wildcards == wildcards[i], "an inbox counts the wildcard receives");
    std::int32_t count = 0;
    std::int32_t last = -1;
    for (std::int32_t at = inbox.oldest; at >= 0; last = at, at = messages_[at].newer) {
      ensure(in_use(at) && messages_[at].state == MessageState::unexpected &&
                 static_cast<std::size_t>(messages_[at].destination) == i,
             "an inbox lists unexpected messages of its rank");
      ensure(messages_[at].older == last, "the list of an inbox is doubly linked");
      ensure(++count <= inbox.count, "an inbox counts its messages");
    }
    ensure(count == inbox.count && last == inbox.newest, "an inbox counts its messages");
  }
}

}  // namespace tisim
