/* The replacement of a computation. */
#ifndef TISIM_COMPUTATION_H
#define TISIM_COMPUTATION_H

void prepare_computations(void);
void compute(double volume);
/* Executes the trace's own `sleep`. */
void sleep_for(double seconds);
/* Instructions a second of the loop that `instructions` executes; 0 in other modes. */
double loop_speed(void);

/* The seconds that this rank computes and sleeps; after the rehearsal. */
double computing_time(void);

#endif
