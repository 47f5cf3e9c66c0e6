// A server that carries out one operation after the other, in the order in which they arrive.
#pragma once

#include <algorithm>

namespace tisim {

class MetadataServer {
 public:
  // `service`: seconds for which an operation occupies the server.
  explicit MetadataServer(double service) : service_(service) {}

  // The date at which an operation that arrives now has been carried out. As nobody overtakes, a
  // queue is the date at which it will be empty.
  double serve(double now) {
    free_ = std::max(free_, now) + service_;
    return free_;
  }

 private:
  double service_;
  double free_ = 0.0;  // seconds
};

}  // namespace tisim
