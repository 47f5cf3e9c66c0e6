#include "mpi/point_to_point.hpp"

namespace tisim {

PointToPoint::PointToPoint(const Runtime& runtime, Network& network, Transfers& transfers,
                           Matcher& matcher, RequestTable& requests, const Addresses& addresses,
                           const Protocol& protocol, WaitingProbes& waiting_probes, Jitter& jitter)
    : runtime_(runtime),
      network_(network),
      transfers_(transfers),
      matcher_(matcher),
      requests_(requests),
      addresses_(addresses),
      protocol_(protocol),
      waiting_probes_(waiting_probes),
      jitter_(jitter),
      deliveries_(runtime, transfers, matcher, requests) {
  if (!protocol.keeps_order()) return;
  transfers.keep_order();
  handshake_ =
      std::make_unique<Handshake>(runtime, transfers, matcher, deliveries_, protocol, jitter);
}

std::int32_t PointToPoint::find_pair(const Rank& rank, std::int32_t index,
                                     std::int32_t destination) {
  const std::int32_t host = runtime_.ranks[destination].host;
  const std::int32_t pair = network_.pair(rank.host, host);
  if (pair < 0 || !handshake_) return pair;
  const std::int32_t back = network_.pair(host, rank.host);
  if (back < 0) return back;
  transfers_.connections()->find_or_make(destination, index, back);
  return transfers_.connections()->find_or_make(index, destination, pair);
}

bool PointToPoint::send(Rank& rank, std::int32_t index) {
  const Op& op = rank.op;
  if (op.peer == kProcNull) {
    if (Protocol::is_immediate(op.kind)) requests_.add(rank, kSender, -1);
    return true;
  }
  const double seconds = protocol_.send_overhead(rank, op);
  if (seconds > 0) {
    runtime_.sleep(rank, index, seconds, Phase::send_overhead);
    return false;
  }
  return post_send(rank, index);
}

bool PointToPoint::post_send(Rank& rank, std::int32_t index) {
  const Op& op = rank.op;
  const std::int32_t destination = addresses_.global_rank(rank, op.peer);
  const std::int32_t context = addresses_.context(rank);
  Channel& channel = matcher_.channel(index, destination, op.tag, context);
  if (channel.pair < 0) {
    channel.pair = find_pair(rank, index, destination);
    if (channel.pair < 0) {
      rank.phase = Phase::needs_route;
      runtime_.interruption.ask_route(index);
      return false;
    }
  }
  const std::int32_t pair = channel.pair;
  const bool detached = protocol_.is_detached(op);
  const bool eager = detached && protocol_.is_eager(op);
  std::int32_t found = matcher_.take_receive(channel);
  const bool receiver_waits = found >= 0;  // a late sender
  if (!receiver_waits) found = matcher_.messages().acquire();
  Message& message = matcher_.message(found);
  message.bytes = op.bytes;
  message.source = index;
  message.pair = pair;
  message.detached = detached;
  message.holders = detached ? 1 : 2;
  if (receiver_waits) {
    message.state = MessageState::matched;
  } else {
    message.destination = destination;
    message.tag = op.tag;
    message.context = context;
    message.state = MessageState::unexpected;
    matcher_.leave_unexpected(found);
    waiting_probes_.message_sent(destination);
  }
  if (runtime_.log.is_open()) log_send(found);
  if (handshake_) {
    handshake_->send(found);
  } else if (receiver_waits || eager) {
    start_transfer(found);
  }
  ++rank.messages_sent;
  rank.bytes_sent += op.bytes;

  if (Protocol::is_immediate(op.kind)) {
    requests_.add(rank, kSender, detached ? -1 : found);
    return true;
  }
  if (detached) return true;
  return block(rank, index, found, kSender);
}

bool PointToPoint::receive(Rank& rank, std::int32_t index) {
  const Op& op = rank.op;
  const bool immediate = Protocol::is_immediate(op.kind);
  if (op.peer == kProcNull) {
    if (immediate) requests_.add(rank, kReceiver, -1);
    return true;
  }
  const std::int32_t source =
      op.peer == kAnySource ? kAnySource : addresses_.global_rank(rank, op.peer);
  const std::int32_t context = addresses_.context(rank);
  std::int32_t found = matcher_.take_message(source, index, op.tag, context);
  if (found >= 0) {  // a late receiver
    matcher_.message(found).state = MessageState::matched;
    if (handshake_) {
      handshake_->receive(found);
    } else if (!matcher_.message(found).flowing) {
      start_transfer(found);
    }
  } else {
    found = matcher_.messages().acquire();
    Message& message = matcher_.message(found);
    message.bytes = op.bytes;
    message.source = source;
    message.destination = index;
    message.tag = op.tag;
    message.context = context;
    message.holders = 1;
    matcher_.post_receive(found);
  }
  if (runtime_.log.is_open()) runtime_.log.post_receive(found, runtime_.clock.now());
  if (immediate) {
    requests_.add(rank, kReceiver, found);
    return true;
  }
  return block(rank, index, found, kReceiver);
}

std::int32_t PointToPoint::access(std::int32_t poster, std::int32_t source,
                                  std::int32_t destination, std::int64_t bytes, std::int32_t tag,
                                  std::int32_t context, bool has_envelope, bool is_read) {
  Rank& sender = runtime_.ranks[source];
  const std::int32_t pair = find_pair(sender, source, destination);
  if (pair < 0) {
    runtime_.interruption.ask_route(poster);
    return -1;
  }
  const std::int32_t found = matcher_.messages().acquire();
  Message& message = matcher_.message(found);
  message.bytes = bytes;
  message.source = source;
  message.destination = destination;
  message.tag = tag;
  message.context = context;
  message.pair = pair;
  message.state = MessageState::matched;
  message.detached = has_envelope;
  message.holders = 1;
  if (runtime_.log.is_open()) {
    log_send(found);
    runtime_.log.post_receive(found, runtime_.clock.now());
  }
  const double moved = has_envelope ? protocol_.with_envelope(bytes) : static_cast<double>(bytes);
  if (handshake_) {
    handshake_->access(found, moved, is_read);
  } else {
    start_transfer(found, moved);
  }
  ++sender.messages_sent;
  sender.bytes_sent += bytes;
  return found;
}

void PointToPoint::start_transfer(std::int32_t found, double bytes) {
  Message& message = matcher_.message(found);
  message.flowing = true;
  if (deliveries_.is_lost(found, message.pair)) return;
  if (runtime_.log.is_open()) runtime_.log.start_transfer(found, runtime_.clock.now());
  transfers_.start(message.pair, jitter_.size(bytes), found);
}

void PointToPoint::log_send(std::int32_t found) const {
  const Message& message = matcher_.message(found);
  runtime_.log.post_send(found,
                         {.bytes = message.bytes,
                          .source = message.source,
                          .destination = message.destination,
                          .tag = message.tag,
                          .collective = (message.context & 1) != 0,
                          .detached = message.detached},
                         runtime_.clock.now());
}

bool PointToPoint::block(Rank& rank, std::int32_t index, std::int32_t found, Side side) {
  Message& message = matcher_.message(found);
  message.request[side] = kBlockingCall;
  if (message.arrived || (message.sent && side == kSender)) {
    make_progress(index);
    if (side == kReceiver) return finish_receive(rank, index, found);
    release(found);
    return true;
  }
  if (!message.waited) {
    message.waited = true;
    message.first_waiter = side;
  }
  rank.waiting = found;
  rank.waiting_side = side;
  rank.phase = Phase::waiting;
  make_progress(index);
  return false;
}

double PointToPoint::take_received(const Rank& rank, std::int32_t found) {
  const double seconds = protocol_.receive_overhead(rank, matcher_.message(found));
  if (runtime_.log.is_open()) runtime_.log.complete_receive(found);
  release(found);
  return seconds;
}

bool PointToPoint::finish_receive(Rank& rank, std::int32_t index, std::int32_t found) {
  const double seconds = take_received(rank, found);
  if (seconds <= 0) return true;
  runtime_.sleep(rank, index, seconds, Phase::receive_overhead);
  return false;
}

void PointToPoint::withdraw(std::int32_t found) {
  const bool is_send = matcher_.message(found).state == MessageState::unexpected;
  matcher_.withdraw(found);
  if (is_send) {
    if (runtime_.log.is_open()) runtime_.log.withdraw_send(found);
    // The receiver's reference, held until its library has read the request.
    if (!handshake_ || !handshake_->withdraw(found)) release(found);
  }
  release(found);
}

}  // namespace tisim
