// The kernels for AVX-512 with products of bfloat16 pairs.
#define GANTUNE_AVX512 1
#define GANTUNE_TABLE kernels_avx512_bf16
#include "kernels_all.h"
