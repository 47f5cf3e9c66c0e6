/* All ranks write a field with parallel HDF5 and then with PnetCDF, and read it back.
 *
 *   H=hdf5/openmpi L=/usr/lib/x86_64-linux-gnu/hdf5/openmpi    # Debian: libhdf5-openmpi-dev,
 *   mpicc -O1 hdf5_netcdf.c -I/usr/include/$H -L$L -lhdf5 -lpnetcdf -o hdf5_netcdf # libpnetcdf-dev
 *   tisim record --io mpi -o fields.tit -- mpirun -n 4 ./hdf5_netcdf
 *   tisim inspect fields.tit
 */
#include <hdf5.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 1024, STEPS = 2 }; /* of a rank */

static int rank, ranks;

static void check(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void with_hdf5(double* field) {
  const hsize_t all[] = {(hsize_t)ROWS * ranks, COLUMNS};
  const hsize_t own[] = {ROWS, COLUMNS};
  const hsize_t start[] = {(hsize_t)ROWS * rank, 0};
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate("field.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  check(file >= 0, "field.h5 cannot be made");
  const hid_t space = H5Screate_simple(2, all, NULL);
  const hid_t memory = H5Screate_simple(2, own, NULL);
  const hid_t together = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, own, NULL);
  for (int step = 0; step < STEPS; ++step) {
    char name[16];
    snprintf(name, sizeof name, "density-%d", step);
    const hid_t data =
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    check(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, together, field) >= 0, "H5Dwrite");
    check(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, together, field) >= 0, "H5Dread");
    H5Dclose(data);
  }
  H5Pclose(together);
  H5Sclose(memory);
  H5Sclose(space);
  H5Fclose(file);
  H5Pclose(access);
}

static void with_pnetcdf(double* field) {
  int file, variable, dimensions[2];
  const MPI_Offset start[] = {(MPI_Offset)ROWS * rank, 0};
  const MPI_Offset count[] = {ROWS, COLUMNS};
  check(ncmpi_create(MPI_COMM_WORLD, "field.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL,
                     &file) == NC_NOERR,
        "field.nc cannot be made");
  ncmpi_def_dim(file, "row", (MPI_Offset)ROWS * ranks, &dimensions[0]);
  ncmpi_def_dim(file, "column", COLUMNS, &dimensions[1]);
  ncmpi_def_var(file, "pressure", NC_DOUBLE, 2, dimensions, &variable);
  ncmpi_enddef(file);
  for (int step = 0; step < STEPS; ++step) {
    check(ncmpi_put_vara_double_all(file, variable, start, count, field) == NC_NOERR, "put");
    check(ncmpi_get_vara_double_all(file, variable, start, count, field) == NC_NOERR, "get");
  }
  ncmpi_close(file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double* const field = malloc(sizeof(double) * ROWS * COLUMNS);
  for (int i = 0; i < ROWS * COLUMNS; ++i) field[i] = rank + 1e-6 * i;
  with_hdf5(field);
  with_pnetcdf(field);
  for (int i = 0; i < ROWS * COLUMNS; ++i) check(field[i] == rank + 1e-6 * i, "reads other data");
  free(field);
  MPI_Finalize();
  return 0;
}
