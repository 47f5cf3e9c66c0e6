"""Real runs of Open MPI on a shaped network of namespaces, compared with predictions."""
