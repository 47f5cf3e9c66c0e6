// What the program and the file for an MPI library know of one another.
#pragma once
#include <stddef.h>

// A message that this rank sends.
void report_message(int to, size_t bytes);

// Called by all ranks before the first call.
void prepare_reports(int ranks, int me);
