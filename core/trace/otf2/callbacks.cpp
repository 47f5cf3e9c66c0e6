// The functions that OTF2's library calls. Their types are those of
// OTF2_GlobalEvtReaderCallbacks.h, without trailing arguments that are not needed.
#include "trace/otf2/calls.hpp"

namespace tisim {

namespace {

// OTF2_CALLBACK_SUCCESS and OTF2_CALLBACK_INTERRUPT.
constexpr int kGoOn = 0, kStop = 1;

// Exceptions must not propagate through the library.
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

using U8 = std::uint8_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using Location = U64;
using Time = U64;

// Calls a method of the collector with the time and the fields of an event.
template <auto kMethod, class... Fields>
int timed(Location, Time time, void* data, void*, Fields... fields) {
  return call(data, [=](Otf2Calls& calls) { (calls.*kMethod)(time, fields...); });
}

// Calls a method of the collector with the fields alone.
template <auto kMethod, class... Fields>
int untimed(Location, Time, void* data, void*, Fields... fields) {
  return call(data, [=](Otf2Calls& calls) { (calls.*kMethod)(fields...); });
}

int on_metric(Location, Time, void* data, void*, U32 metric, U8 count, const void*,
              const U64* values) {
  return call(data, [=](Otf2Calls& calls) { calls.metric(metric, count, values); });
}

template <RecordKind kind>
int on_message(Location, Time, void* data, void*, U32 peer, U32 comm, U32 tag, U64 bytes) {
  return call(data, [=](Otf2Calls& calls) { calls.message(kind, peer, comm, tag, bytes); });
}

int on_io_seek(Location, Time time, void* data, void*, U32 handle, std::int64_t, U8, U64 position) {
  return call(data, [=](Otf2Calls& calls) { calls.io_seek(time, handle, position); });
}

int on_io_delete(Location, Time time, void* data, void*, U8, U32 file) {
  return call(data, [=](Otf2Calls& calls) { calls.io_delete(time, file); });
}

template <Otf2Loss loss>
int on_loss(Location, Time, void* data, void*) {
  return call(data, [](Otf2Calls& calls) { calls.lost(loss); });
}

template <class Function>
Otf2Callback callback(const char* name, Function* function) {
  return {name, reinterpret_cast<std::uintptr_t>(function)};
}

}  // namespace

const std::vector<Otf2Callback>& otf2_callbacks() {
  static const std::vector<Otf2Callback> callbacks = {
      callback("Enter", &timed<&Otf2Calls::enter, U32>),
      callback("Leave", &timed<&Otf2Calls::leave, U32>),
      callback("BufferFlush", &timed<&Otf2Calls::flush, Time>),
      callback("Metric", &on_metric),
      callback("MpiSend", &on_message<RecordKind::send>),
      callback("MpiRecv", &on_message<RecordKind::receive>),
      callback("MpiProbe", &on_message<RecordKind::probe>),
      callback("MpiIsend", &untimed<&Otf2Calls::isend, U32, U32, U32, U64, U64>),
      callback("MpiIsendComplete", &untimed<&Otf2Calls::isend_complete, U64>),
      callback("MpiIrecvRequest", &untimed<&Otf2Calls::post, U64>),
      callback("NonBlockingCollectiveRequest", &untimed<&Otf2Calls::post, U64>),
      callback("MpiIrecv", &untimed<&Otf2Calls::irecv, U32, U32, U32, U64, U64>),
      callback("MpiRequestCancelled", &untimed<&Otf2Calls::cancelled, U64>),
      callback("MpiCollectiveEnd", &untimed<&Otf2Calls::collective, U8, U32, U32, U64, U64>),
      callback("NonBlockingCollectiveComplete",
               &untimed<&Otf2Calls::icollective, U8, U32, U32, U64, U64, U64>),
      callback("MeasurementOnOff", &on_loss<Otf2Loss::measurement>),
      callback("RmaPut", &on_loss<Otf2Loss::rma_put>),
      callback("RmaGet", &on_loss<Otf2Loss::rma_get>),
      callback("RmaAtomic", &on_loss<Otf2Loss::rma_atomic>),
      callback("IoCreateHandle", &timed<&Otf2Calls::io_create, U32, U8, U32, U32>),
      callback("IoDestroyHandle", &timed<&Otf2Calls::io_destroy, U32>),
      callback("IoSeek", &on_io_seek),
      callback("IoDeleteFile", &on_io_delete),
      callback("IoDuplicateHandle", &untimed<&Otf2Calls::io_duplicate>),
      callback("IoOperationBegin", &timed<&Otf2Calls::io_begin, U32, U8, U32, U64, U64>),
      callback("IoOperationComplete", &timed<&Otf2Calls::io_complete, U32, U64, U64>),
      callback("IoOperationCancelled", &timed<&Otf2Calls::io_cancelled, U32, U64>),
      callback("MpiMrecv", &on_loss<Otf2Loss::mrecv>),
      callback("ThreadFork", &untimed<&Otf2Calls::other>),
      callback("OmpFork", &untimed<&Otf2Calls::other>),
  };
  return callbacks;
}

}  // namespace tisim
