/* The mathematics of the kernels on the CPU: float32, within a few units in the last place.

   Written so that a compiler turns the loops around it into vector instructions: no branches, no
   calls, what is not needed is computed and passed over. What occurs twice in a loop, such as the
   exponential of a sigmoid and of its slope, is computed once. Results below 1e-36 may be 0.
   The polynomials (p_…) stand in fits.h, which fits.py writes. */

#define LOG2_E 1.44269504f
#define LN2 0.693147181f
#define LN2_HIGH 0.693359375f /* few bits, so that whole multiples are exact */
#define LN2_LOW -2.12194440e-4f
#define GAUSS 1.12837917f /* 2/√π */
#define HALF_PI 1.57079633f
#define INFINITE __builtin_inff()

static inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float size_(float x) { return __builtin_fabsf(x); }
static inline float signed_(float size, float x) { return __builtin_copysignf(size, x); }

static inline int bits(float x) {
    int i;
    __builtin_memcpy(&i, &x, 4);
    return i;
}

static inline float number(int i) {
    float x;
    __builtin_memcpy(&x, &i, 4);
    return x;
}

/* Unlike fmaxf and fminf, NaN stays NaN. */
static inline float f_maximum(float a, float b) { return a > b || a != a ? a : b; }
static inline float f_minimum(float a, float b) { return a < b || a != a ? a : b; }
static inline float f_above(float a, float b) { return a > b ? 1.0f : 0.0f; }
static inline float f_not_above(float a, float b) { return a > b ? 0.0f : 1.0f; }
static inline float f_sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f; }

static inline float f_divide(float a, float b) { return b == 0 ? 0.0f : a / b; }
static inline float f_reciprocal(float x) { return f_divide(1.0f, x); }
static inline float f_reciprocal_slope(float x) { return -f_reciprocal(x) * f_reciprocal(x); }

static inline float f_divide_slope(float a, float b) {
    const float by_b = f_reciprocal(b);
    return -by_b * (a * by_b);
}

/* exp(x) = 2^turns · (1 + grown), with |x − turns·ln 2| at most ln(2)/2. */
static inline float turns(float x) { return fma_(x, LOG2_E, 12582912.0f) - 12582912.0f; }
static inline float power_of_2(float n) { return number(((int)n + 127) << 23); }

static inline float grown(float x) {
    const float n = turns(x), r = fma_(n, -LN2_LOW, fma_(n, -LN2_HIGH, x));
    return fma_(r * r, p_exp(r), r);
}

static inline float below_89(float x) { return x > 89.0f ? 89.0f : x; }

static inline float f_exp(float x) {
    const float c = below_89(x), half = power_of_2(turns(c) - 1); /* 2^128 would be no number */
    const float y = 2 * fma_(grown(c), half, half);
    return x < -87.0f ? 0.0f : y;
}

/* exp(x) for x up to 0, down to where it is no normal number. */
static inline float f_exp_below(float x) {
    const float c = below_89(x), twice = power_of_2(turns(c) + 1);
    const float y = 0.5f * fma_(grown(c), twice, twice);
    return x < -88.3f ? 0.0f : y;
}

static inline float f_expm1(float x) {
    const float c = below_89(x), half = power_of_2(turns(c) - 1);
    const float y = 2 * fma_(grown(c), half, half - 0.5f);
    return x < -30.0f ? -1.0f : y;
}

/* exp(x)/2 for x from 0, finite as long as sinh is. */
static inline float half_exp(float x) {
    const float c = x > 89.5f ? 89.5f : x, quarter = power_of_2(turns(c) - 2);
    return 2 * fma_(grown(c), quarter, quarter);
}

/* Of normal numbers above 0. */
static inline float f_log(float x) {
    const int turn = (bits(x) - bits(0.707106781f)) >> 23;
    const float f = number(bits(x) - (turn << 23)) - 1, n = (float)turn, square = f * f;
    const float y = fma_(square, -0.5f, fma_(n, LN2_LOW, f * square * p_log(f)));
    return fma_(n, LN2_HIGH, f + y);
}

static inline float f_sinh(float x) {
    const float large = half_exp(size_(x)), far = large - 0.25f / large;
    return size_(x) < 1 ? x * p_sinh(x * x) : signed_(far, x);
}

static inline float f_cosh(float x) {
    const float large = half_exp(size_(x));
    return large + 0.25f / large;
}

static inline float f_tanh(float x) {
    const float e = f_expm1(-2 * size_(x));
    return signed_(-e / (2 + e), x);
}

static inline float f_sech2(float x) {
    const float t = f_exp_below(-2 * size_(x)), by = 1 / (1 + t);
    return 4 * (t * by) * by;
}

/* exp(−x²), with what rounding x² has lost. */
static inline float bell(float x) {
    const float size = size_(x) > 30 ? 30.0f : size_(x), square = size * size;
    const float y = f_exp_below(-square);
    return fma_(-fma_(size, size, -square), y, y);
}

static inline float f_gauss(float x) { return GAUSS * bell(x); }

/* erfc(|x|). */
static inline float tail_area(float x) {
    const float t = 1 / fma_(size_(x), 0.4f, 1.0f);
    return bell(x) * (t * p_erfc(t));
}

static inline float f_erf(float x) {
    return size_(x) < 1 ? x * p_erf(x * x) : signed_(1 - tail_area(x), x);
}

static inline float f_erfc(float x) { return x < 0 ? 2 - tail_area(x) : tail_area(x); }

/* Beyond 1e9 asinh is log 2|x|, to the last bit. */
static inline float near_(float x) { return size_(x) < 1e9f ? size_(x) : 1.0f; }
static inline float root_(float x) { return __builtin_sqrtf(fma_(near_(x), near_(x), 1.0f)); }

static inline float f_asinh(float x) {
    const float size = size_(x), near = near_(x);
    const float w = near + near * near / (1 + root_(x)), u = 1 + w;
    const float lost = size < 1e9f ? (w - (u - 1)) / u : LN2;
    const float y = f_log(size < 1e9f ? u : size) + lost;
    return signed_(size < INFINITE ? y : size, x);
}

static inline float f_asinh_slope(float x) {
    return 1 / (size_(x) < 1e9f ? root_(x) : size_(x));
}

static inline float f_atan(float x) {
    const float size = size_(x), w = size > 1 ? 1 / size : size, y = w * p_atan(w * w);
    return signed_(size > 1 ? HALF_PI - y : y, x);
}

static inline float f_atan_slope(float x) { return 1 / fma_(x, x, 1.0f); }

/* Powers go through float64, for an exponent of 100 needs seven digits behind it. */
typedef unsigned long long bits64_;

static inline bits64_ bits64(double x) {
    bits64_ i;
    __builtin_memcpy(&i, &x, 8);
    return i;
}

static inline double number64(bits64_ i) {
    double x;
    __builtin_memcpy(&x, &i, 8);
    return x;
}

/* log₂ of a number from 0. */
static inline double log2_64(double x) {
    const bits64_ turn = (bits64(x) - bits64(0.70710678118654752) + (1023ULL << 52)) >> 52;
    const double n = number64(turn | 0x4330000000000000ULL) - (4503599627370496.0 + 1023);
    const double m = number64(bits64(x) - ((turn - 1023) << 52)), s = (m - 1) / (m + 1);
    const double y = n + s * p_log2(s * s);
    return x < INFINITE ? (x > 0 ? y : -INFINITE) : x;
}

static inline double exp2_64(double x) {
    const double c = x > 300 ? 300 : x < -300 ? -300 : x, shifted = c + 6755399441055744.0;
    return p_exp2(c - (shifted - 6755399441055744.0)) * number64((bits64(shifted) + 1023) << 52);
}

/* C's, edge by edge: NaN for a finite negative base with a fractional exponent. */
static inline float f_power(float a, float b) {
    const float size = size_(a), half = 0.5f * b;
    const int whole = __builtin_floorf(b) == b, odd = __builtin_floorf(half) != half;
    float y = size == 1 ? 1.0f : (float)exp2_64(b * log2_64(size));
    y = (bits(a) < 0) & whole & odd ? -y : y;
    y = (a < 0) & (size < INFINITE) & !whole ? __builtin_nanf("") : y;
    return b == 0 ? 1.0f : y;
}

static inline float f_power_slope(float a, float b) { return b == 0 ? 0 : b * f_power(a, b - 1); }

/* TensorFlow's: the exponent has no slope where the base is not positive. */
static inline float f_power_exponent_slope(float a, float b) {
    const float log = (float)(0.69314718055994531 * log2_64(size_(a)));
    return a > 0 ? f_power(a, b) * log : 0.0f;
}
