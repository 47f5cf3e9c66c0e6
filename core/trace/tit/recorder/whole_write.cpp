#include "trace/tit/recorder/whole_write.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace tisim {
namespace tit {
namespace {

// While it lives, this thread does not get SIGXFSZ.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigset_t pending;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
  }
  ~WithoutSizeSignal() {
    const int reason = errno;
    if (reason == EFBIG && !was_pending_) drop_pending();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = reason;
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  void drop_pending() const {
    sigset_t pending;
    sigpending(&pending);
    int number = 0;
    if (sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal_, &number);
  }

  sigset_t signal_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace

bool write_all(int descriptor, const char* bytes, std::size_t size) {
  const WithoutSizeSignal guard;
  while (size > 0) {
    const ssize_t wrote = ::write(descriptor, bytes, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

}  // namespace tit
}  // namespace tisim
