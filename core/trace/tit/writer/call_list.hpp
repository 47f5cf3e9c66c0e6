// The calls of a rank, one after the other, each with the volume before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/writer/rank_part.hpp"

namespace tisim {
namespace tit {

class CallList {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // Lists the calls of a part; the memory of the list before is used again. `number_of(call)`: what
  // a call is called here, asked once, when it is met first. `silence()`: the number of the call
  // that stands behind a volume that no call follows at once.
  template <class NumberOf, class Silence>
  void fill(const RankPart& part, const NumberOf& number_of, const Silence& silence) {
    make_room(part);
    silence_ = kNone;
    const std::uint64_t nothing = 0;
    const std::uint64_t* volume = part.volumes() > 0 ? part.all_volumes().data() : &nothing;
    const std::uint64_t* const last_volume = volume + part.volumes() - (part.volumes() > 0 ? 1 : 0);
    std::uint64_t waiting = 0;
    std::size_t size = 0;
    const auto put_silence = [&] {
      if (silence_ == kNone) silence_ = silence();
      calls_[size] = silence_;
      volumes_[size++] = waiting;
    };
    // Without a branch: whether a computation stands before a call is often as good as random.
    for (const std::uint32_t step : part.all_steps()) {
      const std::uint32_t is_volume = step >> RankPart::kVolumeBit;
      if ((waiting != 0) & (is_volume != 0)) put_silence();
      const std::uint32_t call = step & (is_volume - 1);
      std::uint32_t number = number_of_call_[call];
      if (number == kNone && is_volume == 0) {
        number = number_of(call);
        number_of_call_[call] = number;
      }
      calls_[size] = number;
      volumes_[size] = waiting;
      size += 1 - is_volume;
      waiting = (*volume + 1) & (0 - std::uint64_t{is_volume});
      volume += volume == last_volume ? 0 : is_volume;
    }
    if (waiting != 0) put_silence();
    size_ = size;
  }

  std::size_t size() const { return size_; }
  const std::uint32_t* calls() const { return calls_.data(); }
  // Their codes plus 1; 0: nothing is computed.
  const std::uint64_t* volumes() const { return volumes_.data(); }
  // The number of the calls that are none, or kNone.
  std::uint32_t silence() const { return silence_; }

 private:
  void make_room(const RankPart& part) {
    number_of_call_.assign(part.calls().size() + 1, kNone);
    const std::size_t needed = part.steps() + 1;
    if (needed <= calls_.size()) return;
    calls_.resize(needed);
    volumes_.resize(needed);
  }

  std::vector<std::uint32_t> calls_;
  std::vector<std::uint64_t> volumes_;
  std::size_t size_ = 0;  // of both, that are in use
  std::uint32_t silence_ = kNone;
  std::vector<std::uint32_t> number_of_call_;
};

}  // namespace tit
}  // namespace tisim
