// The body of every kernels_<instruction set>.cpp.
#include "filter_tile_2d.h"
#include "kernels.h"
#include "plane_rows.h"
#include "pointwise.h"
#include "projection_row.h"
#include "winograd_tile.h"

extern const Kernels GANTUNE_TABLE;
const Kernels GANTUNE_TABLE = {V,            filter_scratch, filter_item, PlaneRows::scratch_floats,
                               filter_plane, pointwise,      plan_winograd, winograd_item,
                               smooth_row,   projection_row};
