// The body of every kernels_<instruction set>.cpp.
#include "filter_tile.h"
#include "kernels.h"

extern const Kernels GANTUNE_TABLE;
const Kernels GANTUNE_TABLE = {V, filter_scratch, filter_item};
