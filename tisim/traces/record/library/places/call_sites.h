/* Where in the program a call is made: its call path. */
#ifndef TISIM_CALL_SITES_H
#define TISIM_CALL_SITES_H

#include <stdint.h>

#include "sink.h"

/* Call paths go to this sink from now on. */
void tisim_begin_call_sites(tisim_sink *sink);
/* The number of the call path that ends at `caller`, an address that a function of this recorder
 * returns to; -1: there is none. */
int64_t tisim_call_site(const void *caller);

#endif
