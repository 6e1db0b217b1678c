/* Vectors of states. */
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef REAL real;
typedef REAL lanes __attribute__((vector_size(LANES * sizeof(REAL))));
typedef INTEGER bits __attribute__((vector_size(LANES * sizeof(REAL))));
typedef unsigned INTEGER words __attribute__((vector_size(LANES * sizeof(REAL))));

#define SIGN ((unsigned INTEGER)1 << (8 * sizeof(REAL) - 1))

static inline int any_lane(bits mask)
{
    INTEGER found = 0;
    for (int l = 0; l < LANES; l++) found |= mask[l];
    return found != 0;
}

static inline lanes splat(real value)
{
    return value - (lanes){0};
}
