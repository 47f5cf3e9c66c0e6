// The MPI layer: all classes that execute the operations of ranks, in order of dependency.
#pragma once

#include "mpi/collectives.hpp"
#include "mpi/communicator_creation.hpp"
#include "mpi/communicators.hpp"
#include "mpi/completion.hpp"
#include "mpi/matcher.hpp"
#include "mpi/operation_source.hpp"
#include "mpi/persistent_requests.hpp"
#include "mpi/point_to_point.hpp"
#include "mpi/probes.hpp"
#include "mpi/protocol.hpp"
#include "mpi/request_table.hpp"
#include "mpi/rounds.hpp"
#include "mpi/runtime.hpp"
#include "mpi/schedules.hpp"
#include "mpi/send_receive.hpp"
#include "mpi/windows.hpp"
#include "network/network.hpp"
#include "platform/routes.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

struct Mpi {
  Mpi(const Runtime& runtime, const PlatformData& platform, Network& network, Transfers& transfers)
      : source(runtime.jobs),
        schedules(runtime.model.kept_operations),
        communicators(runtime),
        addresses(runtime.jobs, communicators, schedules),
        requests(runtime, matcher, communicators),
        protocol(runtime.model, platform),
        polling_cost(runtime.model),
        waiting_probes(runtime),
        jitter(runtime.model),
        messages(runtime, network, transfers, matcher, requests, addresses, protocol,
                 waiting_probes, jitter),
        waits(runtime, requests, messages, schedules),
        tests(runtime, requests, waits, polling_cost),
        probes(runtime, network, matcher, addresses, protocol, messages, polling_cost,
               waiting_probes),
        persistent(communicators, addresses, requests, messages, probes),
        cancellations(matcher, communicators, requests, messages),
        send_receive(source, schedules, addresses, messages, waits),
        rounds(runtime, requests, messages, schedules, protocol),
        collectives(runtime, communicators, requests, messages, schedules, rounds),
        creation(runtime, communicators, collectives),
        windows(runtime, communicators, requests, messages, waits, source) {}
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  // Throws BrokenInvariant.
  void verify() const {
    matcher.verify();
    communicators.verify();
    requests.verify();
    collectives.verify();
    windows.verify();
    if (messages.handshake()) messages.handshake()->verify();
  }

  OperationSource source;
  Schedules schedules;
  CommunicatorTable communicators;
  Addresses addresses;
  Matcher matcher;
  RequestTable requests;
  Protocol protocol;
  PollingCost polling_cost;
  WaitingProbes waiting_probes;
  Jitter jitter;
  PointToPoint messages;
  Waits waits;
  RequestTests tests;
  Probes probes;
  PersistentRequests persistent;
  Cancellations cancellations;
  SendReceive send_receive;
  CollectiveRounds rounds;
  Collectives collectives;
  CommunicatorCreation creation;
  Windows windows;
};

}  // namespace tisim
