// Events at known dates: ends of sleeps, computations, accesses, services and message latencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/heap.hpp"

namespace tisim {

// `cpu` and `disk`, the resource types, set the sign bit of an event's number.
enum class EventType : std::uint32_t {
  wake_rank = 0,
  latency = 1,
  wake_activity = 2,
  round = 3,  // the next round of a non-blocking collective begins
  cpu = 4,
  disk = 5
};

// Only resource events are rescheduled, so only they have a stored heap position.
class Agenda {
 public:
  // `resources`: number of hosts plus disk channels.
  explicit Agenda(std::size_t resources) : positions_(resources + 1, -1), heap_(Positions{this}) {
    if (resources >= kMaxIndices) throw std::length_error("too many hosts for the agenda");
  }
  Agenda(const Agenda&) = delete;
  Agenda& operator=(const Agenda&) = delete;

  // Indices of resources, flows and ranks have 29 bits.
  static constexpr std::int32_t kMaxIndices = 1 << 29;

  static std::uint32_t id(EventType type, std::int32_t index) {
    return static_cast<std::uint32_t>(type) << 29 | static_cast<std::uint32_t>(index);
  }
  static EventType type(std::uint32_t id) { return static_cast<EventType>(id >> 29); }
  static bool is_of_resource(std::uint32_t id) { return static_cast<std::int32_t>(id) < 0; }
  static std::int32_t index(std::uint32_t id) {
    return static_cast<std::int32_t>(id & 0x1fffffffU);
  }

  bool empty() const { return heap_.empty(); }
  double next() const { return heap_.top_date(); }
  std::uint32_t top() const { return heap_.top_id(); }
  void pop() { heap_.pop(); }
  void push(double date, EventType type, std::int32_t index) {
    if (index < 0 || index >= kMaxIndices) [[unlikely]]
      throw std::length_error("the agenda cannot number that many ranks or flows");
    ++dated_;
    heap_.push(date, id(type, index));
  }
  // Moves the only event of a resource.
  void update(double date, EventType type, std::int32_t resource) {
    ++dated_;
    heap_.update(date, id(type, resource));
  }
  void remove(EventType type, std::int32_t resource) { heap_.remove(id(type, resource)); }

  // Number of times an event has been scheduled or rescheduled.
  std::uint64_t dated() const { return dated_; }

  bool has_between(double first, double last) const { return heap_.has_between(first, last); }
  // Calls f(date, id) for each event, in no particular order.
  template <class F>
  void for_each(F f) const {
    heap_.for_each_dated(f);
  }

  // Checks that no event is before `now` and that stored positions match the heap. Throws
  // BrokenInvariant.
  void verify(double now) const;

 private:
  struct Positions {
    Agenda* agenda;
    void set(std::uint32_t id, std::int32_t position) const {
      const std::int32_t all_if_resource = static_cast<std::int32_t>(id) >> 31;
      agenda->positions_[place(id) & static_cast<std::size_t>(all_if_resource)] = position;
    }
    std::int32_t get(std::uint32_t id) const { return agenda->positions_[place(id)]; }
    static std::size_t place(std::uint32_t id) { return static_cast<std::size_t>(index(id)) + 1; }
  };

  // Heap positions of the resources. Slot 0 is a dummy that absorbs the writes of all other events:
  // the type of a moving event is unpredictable, so this avoids a branch.
  std::vector<std::int32_t> positions_;
  EventHeap<Positions> heap_;
  std::uint64_t dated_ = 0;
};

}  // namespace tisim
