// Sends and receives: the protocol of MPI messages (Bedaride et al. 2013; SimGrid's
// smpi_request.cpp). Eager: the transfer starts at once. Detached: the sender goes on at once, the
// transfer starts when the receive is posted. Rendezvous: the sender waits for the transfer.

#include "simulation/simulation.hpp"

namespace tisim {

namespace {
// The call returns before the message has arrived, and there is a request for it.
bool is_immediate(Kind kind) {
  switch (kind) {
    case Kind::isend:
    case Kind::issend:
    case Kind::ibsend:
    case Kind::irecv:
    case Kind::sendrecv:
    case Kind::recv_half:
    case Kind::send_init:
    case Kind::ssend_init:
    case Kind::bsend_init:
    case Kind::recv_init:
      return true;
    default:
      return false;
  }
}

// To start a persistent send costs what a blocking one does, as in SimGrid.
bool is_persistent(Kind kind) {
  return kind == Kind::send_init || kind == Kind::ssend_init || kind == Kind::bsend_init;
}

bool is_synchronous(Kind kind) {
  return kind == Kind::ssend || kind == Kind::issend || kind == Kind::ssend_init;
}

bool is_buffered(Kind kind) {
  return kind == Kind::bsend || kind == Kind::ibsend || kind == Kind::bsend_init;
}
}  // namespace

// The number in the simulation of a rank of the operation's communicator.
std::int32_t Simulation::global(const Rank& rank, std::int32_t peer) const {
  if (rank.schedule >= 0) return peer;
  if (rank.op.comm == 0) return rank.first + peer;
  const Communicator& communicator = communicators_[at(comm_index(rank, rank.op.comm))];
  if (peer >= communicator.size) {
    fail(rank, "rank " + std::to_string(peer) + " is not in communicator " +
                   std::to_string(rank.op.comm) + ", whose ranks are 0 to " +
                   std::to_string(communicator.size - 1));
  }
  return communicator.member(peer);
}

// Contexts keep apart the communicators, and collectives from the program's own messages.
std::int32_t Simulation::context_of(const Rank& rank) const {
  if (rank.schedule >= 0) return schedules_.context(rank.schedule);
  if (rank.op.comm == 0) return rank.context;
  return communicators_[at(comm_index(rank, rank.op.comm))].context;
}

bool Simulation::is_detached(const Op& op) const {
  if (op.bytes < model_.detached_threshold) return !is_synchronous(op.kind);
  return is_buffered(op.kind);
}

const Overheads& Simulation::overheads_of(const Rank& rank) const {
  if (platform_.host_overheads.empty()) return model_.overheads.front();
  return model_.overheads[at(platform_.host_overheads[at(rank.host)])];
}

bool Simulation::send(Rank& rank, std::int32_t index) {
  const Op& op = rank.op;
  const bool immediate = is_immediate(op.kind);
  if (op.peer == kProcNull) {
    if (immediate) add_request(rank, kSender, -1);
    return true;
  }
  // A sender that gets control back before the transfer is over pays for that.
  const bool as_isend = immediate && !is_persistent(op.kind);
  if (as_isend || is_synchronous(op.kind) || is_detached(op)) {
    const Overheads& overheads = overheads_of(rank);
    const double seconds =
        (as_isend ? overheads.isend : overheads.send).at(static_cast<double>(op.bytes));
    if (seconds > 0) {
      sleep(index, seconds, Phase::injecting_send);
      return false;
    }
  }
  return post_send(rank, index);
}

bool Simulation::post_send(Rank& rank, std::int32_t index) {
  const Op& op = rank.op;
  const std::int32_t destination = global(rank, op.peer);
  const std::int32_t context = context_of(rank);
  Channel& channel = matcher_.channel(index, destination, op.tag, context);
  if (channel.pair < 0) {
    channel.pair = network_.pair(rank.host, ranks_[at(destination)].host);
    if (channel.pair < 0) {
      rank.phase = Phase::needs_route;
      stop_ = Stop::need_route;
      need_.rank = index;
      return false;
    }
  }
  const std::int32_t pair = channel.pair;
  const bool detached = is_detached(op);
  const bool eager = detached && op.bytes < model_.eager_threshold;
  std::int32_t found = matcher_.take_receive(channel);
  const bool matched = found >= 0;
  if (!matched) found = matcher_.messages().acquire();
  Message& message = matcher_.message(found);
  message.bytes = op.bytes;
  message.source = index;
  message.pair = pair;
  message.detached = detached;
  message.holders = detached ? 1 : 2;
  if (matched) {
    message.state = MessageState::matched;
  } else {
    message.destination = destination;
    message.tag = op.tag;
    message.context = context;
    message.state = MessageState::unexpected;
    matcher_.leave_unexpected(found);
    if (looking_ > 0) look_again(destination);
  }
  if (recorder_) recorder_->post_send(found, message, now_);
  if (matched || eager) {
    message.flowing = true;
    start_flow(pair, static_cast<double>(op.bytes) + model_.envelope, found);
  }
  ++rank.messages_sent;
  rank.bytes_sent += op.bytes;

  if (is_immediate(op.kind)) {
    add_request(rank, kSender, detached ? -1 : found);
    return op.kind != Kind::sendrecv || receive_half(rank, index);
  }
  if (detached) return true;
  message.request[kSender] = kBlockingCall;
  return wait_for(rank, index, found, kSender);
}

bool Simulation::receive(Rank& rank, std::int32_t index) {
  const Op& op = rank.op;
  const bool immediate = is_immediate(op.kind);
  if (op.peer == kProcNull) {
    if (immediate) add_request(rank, kReceiver, -1);
    return true;
  }
  if (op.bytes < 0) return begin_probe(rank, index);
  const std::int32_t source = op.peer == kAnySource ? kAnySource : global(rank, op.peer);
  const std::int32_t context = context_of(rank);
  std::int32_t found = matcher_.take_message(source, index, op.tag, context);
  if (found >= 0) {
    Message& message = matcher_.message(found);
    message.state = MessageState::matched;
    if (!message.flowing) {
      message.flowing = true;
      start_flow(message.pair, static_cast<double>(message.bytes) + model_.envelope, found);
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
  if (recorder_) recorder_->post_receive(found, now_);
  if (immediate) {
    add_request(rank, kReceiver, found);
    return true;
  }
  matcher_.message(found).request[kReceiver] = kBlockingCall;
  return wait_for(rank, index, found, kReceiver);
}

// Both halves are posted, the sending one first; then both are waited for. Meanwhile the other
// stays where it was read: it is the last operation that was taken. With one side missing it is a
// plain send or receive, with itself on both sides it is nothing.
bool Simulation::sendrecv(Rank& rank, std::int32_t index) {
  const Op half = take_half(rank);
  if (half.peer == kProcNull) {
    rank.op.kind = Kind::send;
    return send(rank, index);
  }
  if (rank.op.peer == kProcNull) {
    rank.op = half;
    rank.op.kind = Kind::recv;
    return receive(rank, index);
  }
  const std::int32_t destination = global(rank, rank.op.peer);
  if (destination == index && half.peer != kAnySource && global(rank, half.peer) == index) {
    return true;
  }
  return send(rank, index);
}

bool Simulation::receive_half(Rank& rank, std::int32_t index) {
  rank.op = rank.schedule >= 0 ? schedules_.op(rank.schedule, rank.step - 1)
                               : rank.buffer[rank.cursor - 1];
  receive(rank, index);
  return wait_all(rank, index);
}

bool Simulation::wait_for(Rank& rank, std::int32_t index, std::int32_t found, Side side) {
  Message& message = matcher_.message(found);
  if (message.arrived) {
    if (side == kReceiver) return finish_receive(rank, index, found);
    let_go(found);
    return true;
  }
  if (!message.waited) {
    message.waited = true;
    message.first_waiter = side;
  }
  rank.waiting = found;
  rank.waiting_side = side;
  rank.phase = Phase::waiting;
  return false;
}

// Seconds that a rank pays for a receive: only where the sender had gone on before.
double Simulation::receive_overhead(const Rank& rank, const Message& message) const {
  return message.detached ? overheads_of(rank).receive.at(static_cast<double>(message.bytes)) : 0.0;
}

bool Simulation::finish_receive(Rank& rank, std::int32_t index, std::int32_t found) {
  const double seconds = receive_overhead(rank, matcher_.message(found));
  if (recorder_) recorder_->receive(found);
  let_go(found);
  if (seconds <= 0) return true;
  sleep(index, seconds, Phase::injecting_receive);
  return false;
}

void Simulation::complete(std::int32_t found) {
  Message& message = matcher_.message(found);
  message.arrived = true;
  if (recorder_) recorder_->arrive(found, now_);
  if (message.state == MessageState::unexpected) return;  // eager, before its receive
  const Side first = message.waited ? message.first_waiter : kSender;
  const Side second = first == kSender ? kReceiver : kSender;
  notify(found, first);
  notify(found, second);
}

void Simulation::notify(std::int32_t found, Side side) {
  const Message& message = matcher_.message(found);
  const std::int32_t request = message.request[side];
  if (request == kNobody) return;
  const std::int32_t index = side == kSender ? message.source : message.destination;
  if (request == kBlockingCall) {
    if (recorder_) recorder_->wake(index, found);
    wake(index);
    return;
  }
  requests_[request].complete = true;
  if (!requests_[request].awaited) return;
  Rank& rank = ranks_[at(index)];
  add_ready(rank, request);
  if (rank.phase == Phase::waiting_any) {
    rank.phase = Phase::finishing_any;
    rank.waiting = request;
    if (recorder_) recorder_->wake(index, found);
    wake(index);
  } else if (rank.phase == Phase::waiting_all) {
    rank.phase = Phase::finishing_all;
    if (recorder_) recorder_->wake(index, found);
    wake(index);
  }
}

void Simulation::let_go(std::int32_t found) {
  if (--matcher_.message(found).holders > 0) return;
  if (recorder_) recorder_->release(found);
  matcher_.messages().release(found);
}

}  // namespace tisim
