#include "files.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

bool tisim_write_all(int file, const char *bytes, size_t size) {
  sigset_t signal, before, pending;
  sigemptyset(&signal);
  sigaddset(&signal, SIGXFSZ);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &signal, &before);
  ssize_t wrote = 0;
  while (size > 0 && ((wrote = write(file, bytes, size)) > 0 || errno == EINTR)) {
    if (wrote < 0) continue;
    bytes += wrote;
    size -= (size_t)wrote;
  }
  const int reason = errno;
  int number = 0;
  sigpending(&pending);
  if (!was_pending && sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal, &number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = reason;
  return size == 0;
}
