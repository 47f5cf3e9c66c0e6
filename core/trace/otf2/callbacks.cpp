// The functions that OTF2's library calls. Their types are those of OTF2_GlobalEvtReaderCallbacks.h
// without their last arguments where nothing needs these.
#include "trace/otf2/calls.hpp"

namespace tisim {

namespace {

// OTF2_CALLBACK_SUCCESS and OTF2_CALLBACK_INTERRUPT.
constexpr int kGoOn = 0, kStop = 1;

// No exception may pass through the library.
template <class Do>
int call(void* data, Do what) {
  try {
    what(*static_cast<Otf2Calls*>(data));
    return kGoOn;
  } catch (...) {
    static_cast<Otf2Calls*>(data)->fail();
    return kStop;
  }
}

using Location = std::uint64_t;
using Time = std::uint64_t;

int on_enter(Location, Time time, void* data, void*, std::uint32_t region) {
  return call(data, [=](Otf2Calls& calls) { calls.enter(time, region); });
}

int on_leave(Location, Time time, void* data, void*, std::uint32_t region) {
  return call(data, [=](Otf2Calls& calls) { calls.leave(time, region); });
}

int on_flush(Location, Time time, void* data, void*, Time stop) {
  return call(data, [=](Otf2Calls& calls) { calls.flush(time, stop); });
}

int on_metric(Location, Time, void* data, void*, std::uint32_t metric, std::uint8_t count,
              const void*, const std::uint64_t* values) {
  return call(data, [=](Otf2Calls& calls) { calls.metric(metric, count, values); });
}

template <RecordKind kind>
int on_message(Location, Time, void* data, void*, std::uint32_t peer, std::uint32_t comm,
               std::uint32_t tag, std::uint64_t bytes) {
  return call(data, [=](Otf2Calls& calls) { calls.message(kind, peer, comm, tag, bytes); });
}

int on_isend(Location, Time, void* data, void*, std::uint32_t peer, std::uint32_t comm,
             std::uint32_t tag, std::uint64_t bytes, std::uint64_t request) {
  return call(data, [=](Otf2Calls& calls) { calls.isend(peer, comm, tag, bytes, request); });
}

int on_isend_complete(Location, Time, void* data, void*, std::uint64_t request) {
  return call(data, [=](Otf2Calls& calls) { calls.isend_complete(request); });
}

int on_post(Location, Time, void* data, void*, std::uint64_t request) {
  return call(data, [=](Otf2Calls& calls) { calls.post(request); });
}

int on_irecv(Location, Time, void* data, void*, std::uint32_t peer, std::uint32_t comm,
             std::uint32_t tag, std::uint64_t bytes, std::uint64_t request) {
  return call(data, [=](Otf2Calls& calls) { calls.irecv(peer, comm, tag, bytes, request); });
}

int on_cancelled(Location, Time, void* data, void*, std::uint64_t request) {
  return call(data, [=](Otf2Calls& calls) { calls.cancelled(request); });
}

int on_collective(Location, Time, void* data, void*, std::uint8_t operation, std::uint32_t comm,
                  std::uint32_t root, std::uint64_t sent, std::uint64_t received) {
  return call(data,
              [=](Otf2Calls& calls) { calls.collective(operation, comm, root, sent, received); });
}

int on_icollective(Location, Time, void* data, void*, std::uint8_t operation, std::uint32_t comm,
                   std::uint32_t root, std::uint64_t sent, std::uint64_t received,
                   std::uint64_t request) {
  return call(data, [=](Otf2Calls& calls) {
    calls.icollective(operation, comm, root, sent, received, request);
  });
}

int on_io_create(Location, Time time, void* data, void*, std::uint32_t handle, std::uint8_t mode,
                 std::uint32_t creation, std::uint32_t status) {
  return call(data,
              [=](Otf2Calls& calls) { calls.io_create(time, handle, mode, creation, status); });
}

int on_io_destroy(Location, Time time, void* data, void*, std::uint32_t handle) {
  return call(data, [=](Otf2Calls& calls) { calls.io_destroy(time, handle); });
}

int on_io_seek(Location, Time time, void* data, void*, std::uint32_t handle, std::int64_t,
               std::uint8_t, std::uint64_t position) {
  return call(data, [=](Otf2Calls& calls) { calls.io_seek(time, handle, position); });
}

int on_io_delete(Location, Time time, void* data, void*, std::uint8_t, std::uint32_t file) {
  return call(data, [=](Otf2Calls& calls) { calls.io_delete(time, file); });
}

int on_io_duplicate(Location, Time, void* data, void*) {
  return call(data, [](Otf2Calls& calls) { calls.io_duplicate(); });
}

int on_io_begin(Location, Time time, void* data, void*, std::uint32_t handle, std::uint8_t mode,
                std::uint32_t flags, std::uint64_t bytes, std::uint64_t id) {
  return call(data,
              [=](Otf2Calls& calls) { calls.io_begin(time, handle, mode, flags, bytes, id); });
}

int on_io_complete(Location, Time time, void* data, void*, std::uint32_t handle,
                   std::uint64_t bytes, std::uint64_t id) {
  return call(data, [=](Otf2Calls& calls) { calls.io_complete(time, handle, bytes, id); });
}

int on_io_cancelled(Location, Time time, void* data, void*, std::uint32_t handle,
                    std::uint64_t id) {
  return call(data, [=](Otf2Calls& calls) { calls.io_cancelled(time, handle, id); });
}

template <Otf2Loss loss>
int on_loss(Location, Time, void* data, void*) {
  return call(data, [](Otf2Calls& calls) { calls.lost(loss); });
}

int on_other(Location, Time, void* data, void*) {
  return call(data, [](Otf2Calls& calls) { calls.other(); });
}

template <class Function>
Otf2Callback callback(const char* name, Function* function) {
  return {name, reinterpret_cast<std::uintptr_t>(function)};
}

}  // namespace

const std::vector<Otf2Callback>& otf2_callbacks() {
  static const std::vector<Otf2Callback> callbacks = {
      callback("Enter", &on_enter),
      callback("Leave", &on_leave),
      callback("BufferFlush", &on_flush),
      callback("Metric", &on_metric),
      callback("MpiSend", &on_message<RecordKind::send>),
      callback("MpiRecv", &on_message<RecordKind::receive>),
      callback("MpiProbe", &on_message<RecordKind::probe>),
      callback("MpiIsend", &on_isend),
      callback("MpiIsendComplete", &on_isend_complete),
      callback("MpiIrecvRequest", &on_post),
      callback("NonBlockingCollectiveRequest", &on_post),
      callback("MpiIrecv", &on_irecv),
      callback("MpiRequestCancelled", &on_cancelled),
      callback("MpiCollectiveEnd", &on_collective),
      callback("NonBlockingCollectiveComplete", &on_icollective),
      callback("MeasurementOnOff", &on_loss<Otf2Loss::measurement>),
      callback("RmaPut", &on_loss<Otf2Loss::rma_put>),
      callback("RmaGet", &on_loss<Otf2Loss::rma_get>),
      callback("RmaAtomic", &on_loss<Otf2Loss::rma_atomic>),
      callback("IoCreateHandle", &on_io_create),
      callback("IoDestroyHandle", &on_io_destroy),
      callback("IoSeek", &on_io_seek),
      callback("IoDeleteFile", &on_io_delete),
      callback("IoDuplicateHandle", &on_io_duplicate),
      callback("IoOperationBegin", &on_io_begin),
      callback("IoOperationComplete", &on_io_complete),
      callback("IoOperationCancelled", &on_io_cancelled),
      callback("MpiMrecv", &on_loss<Otf2Loss::mrecv>),
      callback("ThreadFork", &on_other),
      callback("OmpFork", &on_other),
  };
  return callbacks;
}

}  // namespace tisim
