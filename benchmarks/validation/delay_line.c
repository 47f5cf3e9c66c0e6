/* Long cables: forwards frames between pairs of devices, each after a fixed delay.

   usage: delay_line MICROSECONDS DEVICE DEVICE [DEVICE DEVICE ...]

   The devices are those of the network namespace that it runs in. It writes a line once all are
   connected, and runs until its standard input is closed, so that it ends with its parent. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEVICES = 64, MAX_FRAME = 1 << 16, SOCKET_BUFFER = 64 << 20 };

struct frame {
  struct frame* next;
  long long due; /* ns */
  int target;    /* the outgoing socket */
  size_t length;
  char bytes[];
};

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A socket for all frames that a device receives, preceded by virtio's header: senders leave
 * checksums to the device, which only the header describes. */
static int opened(const char* device) {
  int raw = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0), on = 1, bytes = SOCKET_BUFFER;
  struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  address.sll_ifindex = (int)if_nametoindex(device);
  if (raw < 0 || address.sll_ifindex == 0 ||
      setsockopt(raw, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
      setsockopt(raw, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
      setsockopt(raw, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0 ||
      setsockopt(raw, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0 ||
      bind(raw, (struct sockaddr*)&address, sizeof address) != 0)
    fail(device);
  return raw;
}

int main(int count, char** words) {
  static char buffer[MAX_FRAME];
  struct pollfd waited[MAX_DEVICES + 1];
  struct frame *first = NULL, **last = &first; /* by due time, since all have the same delay */
  int devices = count - 2;
  if (devices < 2 || devices % 2 != 0 || devices > MAX_DEVICES) {
    fputs("usage: delay_line MICROSECONDS DEVICE DEVICE [DEVICE DEVICE ...]\n", stderr);
    return 2;
  }
  long long delay = atoll(words[1]) * 1000;
  for (int i = 0; i < devices; ++i)
    waited[i] = (struct pollfd){.fd = opened(words[i + 2]), .events = POLLIN};
  waited[devices] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
  /* Frames should not wait for the processor; without the privilege, they do. */
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 20});
  puts("connected");
  fflush(stdout);
  while (waited[devices].revents == 0) {
    long long left = first == NULL ? -1 : first->due - now();
    struct timespec timeout = {.tv_nsec = 0};
    if (left > 0) timeout = (struct timespec){left / 1000000000, left % 1000000000};
    if (ppoll(waited, (nfds_t)devices + 1, first == NULL ? NULL : &timeout, NULL) < 0 &&
        errno != EINTR)
      fail("ppoll");
    for (int i = 0; i < devices; ++i) {
      ssize_t length;
      while ((length = recv(waited[i].fd, buffer, sizeof buffer, 0)) > 0) {
        struct frame* frame = malloc(sizeof *frame + (size_t)length);
        if (frame == NULL) fail("malloc");
        *frame = (struct frame){NULL, now() + delay, waited[i ^ 1].fd, (size_t)length};
        __builtin_memcpy(frame->bytes, buffer, (size_t)length);
        *last = frame;
        last = &frame->next;
      }
    }
    while (first != NULL && first->due <= now()) {
      struct frame* sent = first;
      /* A full queue drops frames, like a cable; the queues are made long enough. */
      if (send(sent->target, sent->bytes, sent->length, 0) < 0) perror("send");
      first = sent->next;
      if (first == NULL) last = &first;
      free(sent);
    }
  }
  return 0;
}
