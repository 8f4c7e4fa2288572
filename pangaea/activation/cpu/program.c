/* A function's program over a tensor, LANES elements at a time: what is in between stays in the
   cache, and every step is one loop that the compiler turns into vector instructions.

   Nothing here is made for one function: a program is data, and this file is compiled once. */

#ifndef __FP_FAST_FMAF
#error "without fused multiplication and addition the last digits would be wrong"
#endif

#include "fits.h"
#include "functions.h"
#include "units.h"

#define LANES 256

void *malloc(__SIZE_TYPE__);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
void free(void *);

typedef struct {
    const char *name;
    int inputs;
    void (*value)(const float *a, const float *b, float *restrict y);
    void (*slopes)(
        const float *a, const float *b, float *restrict y, float *restrict by_a, float *restrict by_b);
} row;

#define EACH for (int i = 0; i < LANES; i++)
#define VALUE(name) \
    static void name##_value(const float *pa, const float *pb, float *restrict y)
#define SLOPES(name) \
    static void name##_slopes( \
        const float *pa, const float *pb, float *restrict y, float *restrict by_a, float *restrict by_b)

#define CONSTANT(name, value) \
    VALUE(name) { EACH y[i] = value; } \
    SLOPES(name) { EACH y[i] = value; }
#define UNARY(name, value, slope) \
    VALUE(name) { EACH { const float a = pa[i]; y[i] = value; } } \
    SLOPES(name) { EACH { const float a = pa[i]; y[i] = value; by_a[i] = slope; } }
#define BINARY(name, value, slope_a, slope_b) \
    VALUE(name) { EACH { const float a = pa[i], b = pb[i]; y[i] = value; } } \
    SLOPES(name) { \
        EACH { const float a = pa[i], b = pb[i]; y[i] = value; by_a[i] = slope_a; by_b[i] = slope_b; } \
    }
#include "operators.h"
#undef CONSTANT
#undef UNARY
#undef BINARY

#define CONSTANT(name, ...) {#name, 0, name##_value, name##_slopes},
#define UNARY(name, ...) {#name, 1, name##_value, name##_slopes},
#define BINARY(name, ...) {#name, 2, name##_value, name##_slopes},
static const row rows[] = {
#include "operators.h"
    {0, 0, 0, 0}};

/* The names of the operators, in the order of their numbers. */
const char *operator_name(int number) { return rows[number].name; }

/* Step i makes value i + 1 from earlier ones (0 is x), or from one of them and a parameter. */
typedef struct {
    int operator, a, b, parameter;
} step;

/* Element e belongs to owner (e / inner) % owners, who has a value of each parameter. */
typedef struct {
    long inner, owners, period, width;
} layout;

static layout layout_of(long inner, long owners) {
    const long period = inner * owners;
    /* Whole periods at a time, if one fits: then a lane's owner is always the same. */
    return (layout){inner, owners, period, period <= LANES ? LANES / period * period : 0};
}

static long least(long a, long b) { return a < b ? a : b; }

/* How many elements from here on are done at once. */
static long amount(layout of, long at, long last) {
    if (of.width) return least(of.width, last - at);
    return least(least(LANES, of.period - at % of.period), last - at);
}

/* Each lane gets its owner's value, from element `at` on. */
static void spread(const float *own, layout of, long at, long n, float *restrict lanes) {
    long owner = at / of.inner % of.owners, end = of.inner - at % of.inner;
    if (of.inner == 1 && owner + n <= of.owners) {
        for (long i = 0; i < n; i++) lanes[i] = own[owner + i];
        return;
    }
    for (long i = 0; i < n; end += of.inner, owner = owner + 1 == of.owners ? 0 : owner + 1)
        for (const long stop = least(end, n); i < stop; i++) lanes[i] = own[owner];
}

static double total(const float *lanes, long n) {
    float parts[16] = {0};
    double sum = 0;
    long i = 0;
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++) parts[j] += lanes[i + j];
    for (int j = 0; j < 16; j++) sum += parts[j];
    for (; i < n; i++) sum += lanes[i];
    return sum;
}

/* Each owner gets the sum of its lanes. */
static void gather(const float *lanes, layout of, long at, long n, double *restrict sums) {
    long owner = at / of.inner % of.owners, end = of.inner - at % of.inner;
    if (of.inner == 1 && owner + n <= of.owners) {
        for (long i = 0; i < n; i++) sums[owner + i] += lanes[i];
        return;
    }
    for (long i = 0; i < n; end += of.inner, owner = owner + 1 == of.owners ? 0 : owner + 1) {
        const long stop = least(end, n);
        sums[owner] += total(lanes + i, stop - i);
        i = stop;
    }
}

/* The elements from `at` on; where the tensor ends before the lanes do, zeros follow. */
static const float *loaded(const float *x, long at, long n, long elements, float *restrict lanes) {
    if (at + LANES <= elements) return x + at;
    for (long i = 0; i < LANES; i++) lanes[i] = i < n ? x[at + i] : 0.0f;
    return lanes;
}

static void stored(const float *lanes, long n, float *restrict y) {
    for (long i = 0; i < n; i++) y[i] = lanes[i];
}

static void times(const float *a, const float *b, float *restrict y) { EACH y[i] = a[i] * b[i]; }

static void add_times(const float *a, const float *b, float *restrict y, long n) {
    for (long i = 0; i < n; i++) y[i] += a[i] * b[i];
}

/* The function's value for the elements from first to last, which are whole periods apart. */
int forward(
    const step *steps, int count, const float *x, float *y, long first, long last, long elements,
    const float *const *own, int parameters, long inner, long owners) {
    const layout of = layout_of(inner, owners);
    float(*lanes)[LANES] = calloc(parameters + count + 1, sizeof *lanes);
    const float **values = malloc((count + 1) * sizeof *values);
    float(*made)[LANES] = lanes + parameters;
    if (!lanes || !values) return 1;
    for (int k = 0; of.width && k < parameters; k++) spread(own[k], of, 0, LANES, lanes[k]);
    for (int i = 1; i <= count; i++) values[i] = made[i];
    for (long at = first, n; at < last; at += n) {
        n = amount(of, at, last);
        for (int k = 0; !of.width && k < parameters; k++) spread(own[k], of, at, n, lanes[k]);
        values[0] = loaded(x, at, n, elements, made[0]);
        for (int i = 0; i < count; i++) {
            const step s = steps[i];
            if (s.operator < 0) times(values[s.a], lanes[s.parameter], made[i + 1]);
            else rows[s.operator].value(values[s.a], values[s.b], made[i + 1]);
        }
        stored(made[count], n, y + at);
    }
    free(lanes);
    free(values);
    return 0;
}

static void pull(const float *g, const float *slope, float *restrict to, int more) {
    if (more) EACH to[i] += g[i] * slope[i];
    else EACH to[i] = g[i] * slope[i];
}

/* The gradient of x, and each parameter's, the sums of its owners; either may be null. */
int backward(
    const step *steps, int count, const float *x, const float *dy, float *dx,
    float *const *sums, long first, long last, long elements, const float *const *own,
    int parameters, long inner, long owners) {
    const layout of = layout_of(inner, owners);
    float(*lanes)[LANES] = calloc(2 * parameters + 4 * count + 3, sizeof *lanes);
    double *totals = calloc(parameters * owners + 1, sizeof *totals);
    const float **values = malloc((count + 1) * sizeof *values);
    int *reached = malloc((count + 1) * sizeof *reached);
    if (!lanes || !totals || !values || !reached) return 1;
    float(*added)[LANES] = lanes + parameters, (*made)[LANES] = added + parameters;
    float(*gradients)[LANES] = made + count + 1, (*slopes)[LANES] = gradients + count + 1;
    for (int k = 0; of.width && k < parameters; k++) spread(own[k], of, 0, LANES, lanes[k]);
    for (int i = 1; i <= count; i++) values[i] = made[i];
    for (long at = first, n; at < last; at += n) {
        n = amount(of, at, last);
        values[0] = loaded(x, at, n, elements, made[0]);
        for (int k = 0; !of.width && k < parameters; k++) {
            spread(own[k], of, at, n, lanes[k]);
            for (int i = 0; i < LANES; i++) added[k][i] = 0;
        }
        for (int i = 0; i < count; i++) {
            const step s = steps[i];
            float *by = slopes[2 * i];
            if (s.operator < 0) times(values[s.a], lanes[s.parameter], made[i + 1]);
            else rows[s.operator].slopes(values[s.a], values[s.b], made[i + 1], by, by + LANES);
            reached[i] = 0;
        }
        const float *g = loaded(dy, at, n, elements, gradients[count]);
        reached[count] = 1;
        for (int i = count - 1; i >= 0; i--, g = gradients[i + 1]) {
            const step s = steps[i];
            if (!reached[i + 1]) continue;
            if (s.operator < 0) {
                if (sums) add_times(g, values[s.a], added[s.parameter], n);
                pull(g, lanes[s.parameter], gradients[s.a], reached[s.a]);
                reached[s.a] = 1;
                continue;
            }
            for (int j = 0; j < rows[s.operator].inputs; j++) {
                const int input = j ? s.b : s.a;
                pull(g, slopes[2 * i + j], gradients[input], reached[input]);
                reached[input] = 1;
            }
        }
        if (dx) for (long i = 0; i < n; i++) dx[at + i] = reached[0] ? gradients[0][i] : 0.0f;
        for (int k = 0; sums && !of.width && k < parameters; k++)
            gather(added[k], of, at, n, totals + k * owners);
    }
    for (int k = 0; sums && k < parameters; k++) {
        if (of.width) gather(added[k], of, 0, of.width, totals + k * owners);
        for (long i = 0; i < owners; i++) sums[k][i] = totals[k * owners + i];
    }
    free(lanes);
    free(totals);
    free(values);
    free(reached);
    return 0;
}
