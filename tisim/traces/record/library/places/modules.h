/* The program and its libraries: what an address belongs to. */
#ifndef TISIM_MODULES_H
#define TISIM_MODULES_H

#include <stddef.h>

#include "sink.h"

#define TISIM_LONGEST_PLACE 96

/* Writes "MODULE+0xADDRESS" and a zero into `text`: the address as the module's file counts it.
 * Returns its length. The first time, a comment of the sink says what file the module is. */
size_t tisim_place_of(tisim_sink *sink, const void *address, char *text);

#endif
