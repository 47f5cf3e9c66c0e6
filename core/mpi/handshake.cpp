#include "mpi/handshake.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

bool Deliveries::lose_if_obstructed(std::int32_t found, std::int32_t pair) {
  const Message& message = matcher_.message(found);
  std::optional<Loss> loss = transfers_.obstacle(pair);
  for (const std::int32_t rank : {message.source, message.destination}) {
    if (loss || !is_dead(runtime_.ranks[rank])) continue;
    loss = Loss{Loss::Cause::rank, rank, runtime_.clock.now()};
  }
  if (loss) transfers_.note_loss(found, *loss);
  return loss.has_value();
}

void Deliveries::finish_send(std::int32_t found) {
  matcher_.message(found).sent = true;
  notify(found, kSender);
}

void Deliveries::arrive(std::int32_t found) {
  Message& message = matcher_.message(found);
  message.arrived = true;
  if (runtime_.log.is_open()) runtime_.log.arrive(found, runtime_.clock.now());
  if (message.state == MessageState::unexpected) return;  // eager, before its receive
  const Side first = message.waited ? message.first_waiter : kSender;
  const Side second = first == kSender ? kReceiver : kSender;
  if (message.sent) return notify(found, kReceiver);
  notify(found, first);
  notify(found, second);
}

void Deliveries::notify(std::int32_t found, Side side) {
  const Message& message = matcher_.message(found);
  if (message.holds_request != 0 && message.holds(side))
    return requests_.complete_held(found, side);
  const std::int32_t request = message.request[side];
  if (request == kNoRequest) return;
  const std::int32_t index = side == kSender ? message.source : message.destination;
  if (request == kBlockingCall) {
    runtime_.wake_by(found, index);
  } else if (requests_.complete(request, index)) {
    end_unattended(found, side);
  }
}

Handshake::Handshake(const Runtime& runtime, Transfers& transfers, Matcher& matcher,
                     Deliveries& deliveries, const Protocol& protocol, Jitter& jitter)
    : runtime_(runtime),
      transfers_(transfers),
      matcher_(matcher),
      deliveries_(deliveries),
      protocol_(protocol),
      jitter_(jitter) {}

void Handshake::send(std::int32_t found) {
  Message& message = matcher_.message(found);
  if (message.detached) {
    send_body(found);
  } else if (message.source != message.destination) {
    double bytes = kRequestBytes;
    if (protocol_.rendezvous() == Rendezvous::send) {
      // The request carries as much as an eager message would.
      bytes = std::min(protocol_.with_envelope(message.bytes), protocol_.first_fragment());
    }
    queue(message.pair, PacketType::request, found, bytes);
  } else if (message.state == MessageState::matched) {
    send_body(found);
  }
}

void Handshake::access(std::int32_t found, double bytes, bool is_read) {
  Message& message = matcher_.message(found);
  message.flowing = true;
  const PacketType type = is_read ? PacketType::access : PacketType::last_part;
  queue(message.pair, type, found, jitter_.size(bytes));
}

void Handshake::receive(std::int32_t found) {
  const Message& message = matcher_.message(found);
  if (message.detached) return;
  if (message.source == message.destination) {
    send_body(found);
  } else if (message.request_read) {
    answer(found);
  }
}

bool Handshake::withdraw(std::int32_t found) {
  Message& message = matcher_.message(found);
  message.withdrawn = true;
  return message.source != message.destination && !message.request_read;
}

void Handshake::answer(std::int32_t found) {
  const Message& message = matcher_.message(found);
  queue(transfers_.connections()->reverse(message.pair), PacketType::answer, found, kAnswerBytes);
}

void Handshake::send_body(std::int32_t found) {
  Message& message = matcher_.message(found);
  message.flowing = true;
  const double bytes = jitter_.size(protocol_.with_envelope(message.bytes));
  const double buffer = protocol_.send_buffer();
  const bool is_local = message.source == message.destination;
  if (!message.detached && !is_local && protocol_.rendezvous() == Rendezvous::send) {
    const double left = bytes - protocol_.first_fragment();
    if (left > 0) unsent_[found] = left;
    if (left <= 0) queue(message.pair, PacketType::last_part, found, 0.0);
    for (std::int64_t i = 0; i < protocol_.fragments_queued(); ++i) send_fragment(found);
    return;
  }
  const bool is_split = protocol_.rendezvous() != Rendezvous::put_ack && bytes > buffer;
  if (!message.detached && is_split && buffer > 0) {
    queue(message.pair, PacketType::part, found, bytes - buffer);
    queue(message.pair, PacketType::last_part, found, buffer);
  } else {
    queue(message.pair, PacketType::last_part, found, bytes);
  }
}

void Handshake::send_fragment(std::int32_t found) {
  const auto unsent = unsent_.find(found);
  if (unsent == unsent_.end()) return;
  const double bytes = std::min(unsent->second, protocol_.fragment());
  unsent->second -= bytes;
  const bool is_last = unsent->second <= 0;
  if (is_last) unsent_.erase(unsent);
  queue(matcher_.message(found).pair, is_last ? PacketType::last_part : PacketType::part, found,
        bytes);
}

void Handshake::queue(std::int32_t connection, PacketType type, std::int32_t found, double bytes) {
  Connections& connections = *transfers_.connections();
  if (deliveries_.is_lost(found, connections.pair(connection))) return;
  const std::int32_t packet = transfers_.queue(connection, type, found, bytes);
  if (connections.first(connection) == packet) come_first(connections.packet(packet));
}

// The packet is the first of its connection. If it is the last part of a body, a TCP socket has
// buffered all of the body, and its sender continues. Transfers by the network card end only when
// the data has moved.
void Handshake::come_first(const Packet& packet) {
  const Message& message = matcher_.message(packet.message);
  if (is_control(packet.type)) return;
  if (runtime_.log.is_open() && !message.started) {
    runtime_.log.start_transfer(packet.message, runtime_.clock.now());
  }
  matcher_.message(packet.message).started = true;
  if (packet.type == PacketType::part || message.detached || message.sent) return;
  const Rendezvous rendezvous = protocol_.rendezvous();
  if (message.source != message.destination && protocol_.send_buffer() > 0 &&
      (rendezvous == Rendezvous::put || rendezvous == Rendezvous::send)) {
    deliveries_.finish_send(packet.message);
  }
}

void Handshake::end(std::int32_t number) {
  Connections& connections = *transfers_.connections();
  Packet packet = connections.take_moved(number);
  // Read everything that arrives together before the program, which may be woken, continues.
  do {
    arrive(packet);
  } while (transfers_.take_control(packet.connection, &packet));
  const std::int32_t next = connections.move_on(packet.connection, runtime_.clock.now());
  if (next >= 0) come_first(connections.packet(next));
}

void Handshake::arrive(const Packet& packet) {
  if (transfers_.loss_of(packet.message)) return;
  const bool is_acknowledged = protocol_.rendezvous() == Rendezvous::put_ack &&
                               matcher_.message(packet.message).request_read;
  if (packet.type == PacketType::last_part && !is_acknowledged) {
    deliveries_.arrive(packet.message);
    return;
  }
  if (packet.type == PacketType::part && !unsent_.contains(packet.message)) return;
  const Unread unread{packet.message, packet.type};
  const std::int32_t rank = reader(unread);
  const bool needs_nobody =
      packet.type == PacketType::answer && protocol_.rendezvous() == Rendezvous::get;
  if (needs_nobody || makes_progress(runtime_.ranks[rank].phase)) return take(unread);
  const auto at = static_cast<std::size_t>(rank);
  if (at >= unread_.size()) unread_.resize(at + 1);
  unread_[at].push_back(unread);
}

std::int32_t Handshake::reader(const Unread& unread) const {
  const Message& message = matcher_.message(unread.message);
  return is_read_by_receiver(unread.type) ? message.destination : message.source;
}

void Handshake::take(const Unread& unread) {
  Message& message = matcher_.message(unread.message);
  if (unread.type == PacketType::request) {
    message.request_read = true;
    if (message.withdrawn) return deliveries_.release(unread.message);
    if (message.state == MessageState::matched) answer(unread.message);
  } else if (unread.type == PacketType::answer) {
    send_body(unread.message);
  } else if (unread.type == PacketType::last_part) {
    queue(transfers_.connections()->reverse(message.pair), PacketType::acknowledgement,
          unread.message, kAcknowledgementBytes);
  } else if (unread.type == PacketType::acknowledgement) {
    queue(message.pair, PacketType::completion, unread.message, kCompletionBytes);
    deliveries_.finish_send(unread.message);
  } else if (unread.type == PacketType::access || unread.type == PacketType::completion) {
    deliveries_.arrive(unread.message);
  } else {
    send_fragment(unread.message);
  }
}

void Handshake::read(std::int32_t rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (at >= unread_.size() || unread_[at].empty()) return;
  for (const Unread& unread : std::exchange(unread_[at], {})) take(unread);
}

TransferStatus Handshake::status_of(std::int32_t message) const {
  const Connections& connections = *std::as_const(transfers_).connections();
  const std::int32_t packet = connections.find(message);
  if (packet >= 0) {
    return {TransferStatus::Where::queued, connections.packet(packet).type,
            connections.count_before(packet)};
  }
  for (const std::vector<Unread>& list : unread_) {
    for (const Unread& unread : list) {
      if (unread.message == message) return {TransferStatus::Where::unread, unread.type, 0};
    }
  }
  return {};
}

void Handshake::verify() const {
  for (std::size_t rank = 0; rank < unread_.size(); ++rank) {
    for (const Unread& unread : unread_[rank]) {
      const Message& message = matcher_.message(unread.message);
      ensure(!message.arrived && message.holders > 0,
             "unread packets belong to messages in flight");
      ensure(reader(unread) == static_cast<std::int32_t>(rank),
             "unread packets are listed at their reader");
      ensure(!message.request_read || unread.type != PacketType::request, "a request is read once");
    }
  }
  for (const auto& [message, bytes] : unsent_) {
    ensure(bytes > 0 && !matcher_.message(message).arrived,
           "a message with unsent bytes has not arrived");
  }
}

}  // namespace tisim
