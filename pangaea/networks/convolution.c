/* Convolutions along one dimension of tensors whose channels lie last in memory: (batch, length,
   channels). A window of neighbouring places is a row of numbers, so that everything is a product
   of small matrices, 16 columns at a time. */

#define COLUMNS 16
#define HALF 8
#define ROWS 5 /* with 16 columns these fill the registers of AVX2 */

typedef float wide __attribute__((vector_size(4 * HALF), aligned(4), may_alias));

void *malloc(__SIZE_TYPE__);
void free(void *);

typedef struct {
    long batch, length, inputs, places, outputs, window, stride, before;
} shape;

/* `count` rows of a·b: a row of a is `depth` numbers, of b one of 16; `step` leads to the next. */
static inline __attribute__((always_inline)) void product(
    const float *a, long step, const float *b, long depth, float *c, long next, const int count) {
    wide low[ROWS] = {0}, high[ROWS] = {0};
    for (long d = 0; d < depth; d++, b += COLUMNS) {
        const wide first = *(const wide *)b, second = *(const wide *)(b + HALF);
#pragma GCC unroll 8
        for (int r = 0; r < count; r++) {
            low[r] += a[r * step + d] * first;
            high[r] += a[r * step + d] * second;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < count; r++) {
        *(wide *)(c + r * next) = low[r];
        *(wide *)(c + r * next + HALF) = high[r];
    }
}

static void products(
    const float *a, long step, const float *b, long depth, float *c, long next, long rows) {
    long r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        product(a + r * step, step, b, depth, c + r * next, next, ROWS);
    for (; r < rows; r++) product(a + r * step, step, b, depth, c + r * next, next, 1);
}

/* `count` rows of c get aᵀ·b added, where the rows of a and b stand `step` and `next` apart. */
static inline __attribute__((always_inline)) void transposed(
    const float *a, long step, const float *b, long next, long depth, float *c, const int count) {
    wide low[ROWS], high[ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < count; r++) {
        low[r] = *(const wide *)(c + r * COLUMNS);
        high[r] = *(const wide *)(c + r * COLUMNS + HALF);
    }
    for (long d = 0; d < depth; d++, a += step, b += next) {
        const wide first = *(const wide *)b, second = *(const wide *)(b + HALF);
#pragma GCC unroll 8
        for (int r = 0; r < count; r++) {
            low[r] += a[r] * first;
            high[r] += a[r] * second;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < count; r++) {
        *(wide *)(c + r * COLUMNS) = low[r];
        *(wide *)(c + r * COLUMNS + HALF) = high[r];
    }
}

/* An example with zeros before and after it. */
static void padded(const float *x, shape s, long whole, float *to) {
    const long start = s.before * s.inputs, end = start + s.length * s.inputs;
    for (long i = 0; i < start; i++) to[i] = 0;
    for (long i = start; i < end && i < whole; i++) to[i] = x[i - start];
    for (long i = end; i < whole; i++) to[i] = 0;
}

static long whole_of(shape s) { return ((s.places - 1) * s.stride + s.window) * s.inputs; }

/* Weights stand as torch has them, by output, input and place: with what steps between. */
typedef struct {
    long output, input, place;
} steps;

int forward(const float *x, const float *weights, float *y, const shape *of, const steps *by) {
    const shape s = *of;
    const steps w = *by;
    const long depth = s.window * s.inputs, whole = whole_of(s);
    float *row = malloc((whole + depth * s.outputs) * sizeof *row), *packed = row + whole;
    if (!row) return 1;
    for (long o = 0; o < s.outputs; o++)
        for (long d = 0; d < depth; d++)
            packed[(o / COLUMNS * depth + d) * COLUMNS + o % COLUMNS] =
                weights[o * w.output + d % s.inputs * w.input + d / s.inputs * w.place];
    for (long n = 0; n < s.batch; n++) {
        padded(x + n * s.length * s.inputs, s, whole, row);
        for (long o = 0; o < s.outputs; o += COLUMNS)
            products(row, s.stride * s.inputs, packed + o * depth, depth,
                     y + n * s.places * s.outputs + o, s.outputs, s.places);
    }
    free(row);
    return 0;
}

/* The gradient of x, a multiple of 16 channels; it may be null. Then that of the weights. */
int backward(
    const float *x, const float *weights, const float *dy, float *dx, float *dw, const shape *of,
    const steps *by) {
    const shape s = *of;
    const steps w = *by;
    const long depth = s.window * s.inputs, whole = whole_of(s), size = depth * s.outputs;
    float *row = malloc((2 * whole + s.places * COLUMNS + 2 * size) * sizeof *row);
    if (!row) return 1;
    float *to_row = row + whole, *part = to_row + whole, *packed = part + s.places * COLUMNS;
    float *sums = packed + size;
    for (long i = 0; i < size; i++) sums[i] = 0;
    for (long d = 0; dx && d < depth; d++)
        for (long o = 0; o < s.outputs; o++)
            packed[(d / COLUMNS * s.outputs + o) * COLUMNS + d % COLUMNS] =
                weights[o * w.output + d % s.inputs * w.input + d / s.inputs * w.place];
    for (long n = 0; n < s.batch; n++) {
        const float *g = dy + n * s.places * s.outputs;
        padded(x + n * s.length * s.inputs, s, whole, row);
        for (long o = 0; o < s.outputs; o += COLUMNS) {
            long d = 0;
            for (; d + ROWS <= depth; d += ROWS)
                transposed(row + d, s.stride * s.inputs, g + o, s.outputs, s.places,
                           sums + (o * depth) + d * COLUMNS, ROWS);
            for (; d < depth; d++)
                transposed(row + d, s.stride * s.inputs, g + o, s.outputs, s.places,
                           sums + (o * depth) + d * COLUMNS, 1);
        }
        if (!dx) continue;
        for (long i = 0; i < whole; i++) to_row[i] = 0;
        for (long d = 0; d < depth; d += COLUMNS) {
            products(g, s.outputs, packed + d * s.outputs, s.outputs, part, COLUMNS, s.places);
            for (long l = 0; l < s.places; l++)
                for (int c = 0; c < COLUMNS; c++)
                    to_row[l * s.stride * s.inputs + d + c] += part[l * COLUMNS + c];
        }
        const long start = s.before * s.inputs;
        for (long i = 0; i < s.length * s.inputs; i++)
            dx[n * s.length * s.inputs + i] = start + i < whole ? to_row[start + i] : 0;
    }
    for (long o = 0; o < s.outputs; o++)
        for (long d = 0; d < depth; d++)
            dw[o * w.output + d % s.inputs * w.input + d / s.inputs * w.place] =
                sums[(o / COLUMNS * depth + d) * COLUMNS + o % COLUMNS];
    free(row);
    return 0;
}
