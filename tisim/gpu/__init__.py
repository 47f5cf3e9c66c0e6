"""Programs on GPUs: machines, NCCL's collectives, training steps."""
