#include "trace/vocabulary/rank_arguments.hpp"

namespace tisim {

unsigned rank_arguments(const Action* action) {
  if (action == nullptr) return 0;
  switch (action->form) {
    case Form::send:
    case Form::receive:
    case Form::probe:
      return 0b1;
    case Form::request:
    case Form::start:
      return 0b11;
    case Form::sendrecv:
      return 0b1010;
    case Form::none:
    case Form::ignored:
    case Form::location:
    case Form::init:
    case Form::finalize:
    case Form::compute:
    case Form::sleep:
    case Form::requests:
    case Form::collective:
    case Form::comm_split:
    case Form::comm_dup:
    case Form::comm_group:
    case Form::comm_free:
    case Form::file:
    case Form::custom:
      return 0;
  }
  return 0;
}

}  // namespace tisim
