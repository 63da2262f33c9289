// The kernels for any machine of this architecture: registers of four floats.
#define GANTUNE_TABLE kernels_generic
#include "kernels_all.h"
