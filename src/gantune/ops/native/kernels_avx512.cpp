// The kernels for AVX-512 (F, BW, DQ, VL).
#define GANTUNE_AVX512 1
#define GANTUNE_TABLE kernels_avx512
#include "kernels_all.h"
