// The kernels for AVX2 with FMA.
#define GANTUNE_AVX2 1
#define GANTUNE_TABLE kernels_avx2
#include "kernels_all.h"
