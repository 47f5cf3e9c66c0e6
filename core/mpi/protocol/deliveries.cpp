#include "mpi/protocol/deliveries.hpp"

#include <optional>

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
  const std::int32_t request = message.request[side];
  if (request == kNoRequest) return;
  const std::int32_t index = side == kSender ? message.source : message.destination;
  if (request == kBlockingCall) {
    runtime_.wake_by(found, index);
  } else if (requests_.complete(request, index)) {
    end_unattended(found, side);
  }
}

}  // namespace tisim
