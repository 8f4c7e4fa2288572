/* The neural units among the operators, and the Bessel functions. */

#define SELU 1.05070099f
#define SELU_ALPHA 1.75809934f /* times SELU */
#define GELU 1.59576912f /* 2·√(2/π) */
#define GELU_CUBIC 0.0713548163f
#define GELU_SLOPE 0.214064449f

static inline float tail(float x) { return f_exp_below(-size_(x)); }

/* σ(x) and σ(−x), neither by subtraction. */
static inline float u_sigmoid(float x) { return (x < 0 ? tail(x) : 1.0f) / (1 + tail(x)); }
static inline float u_sigmoid_below(float x) { return (x < 0 ? 1.0f : tail(x)) / (1 + tail(x)); }

static inline float u_sigmoid_slope(float x) {
    const float t = tail(x), by = 1 / (1 + t);
    return t * by * by;
}

static inline float log1p_tail(float x) { return tail(x) * p_log1p(tail(x)); }
static inline float u_softplus(float x) { return (x > 0 ? x : 0.0f) + log1p_tail(x); }
static inline float u_logsigmoid(float x) { return (x < 0 ? x : 0.0f) - log1p_tail(x); }

static inline float u_elu(float x) { return x > 0 ? x : f_expm1(x); }
static inline float u_elu_slope(float x) { return x > 0 ? 1.0f : f_exp(x); }
static inline float u_selu(float x) { return x > 0 ? SELU * x : SELU_ALPHA * f_expm1(x); }
static inline float u_selu_slope(float x) { return x >= 0 ? SELU : SELU_ALPHA * f_exp(x); }

static inline float u_swish(float x) { return x * u_sigmoid(x); }
static inline float u_swish_slope(float x) {
    return u_sigmoid(x) * fma_(x, u_sigmoid_below(x), 1.0f);
}

static inline float u_softsign(float x) { return x / (1 + size_(x)); }
static inline float u_softsign_slope(float x) {
    const float by = 1 / (1 + size_(x));
    return by * by;
}

static inline float u_hard_sigmoid(float x) {
    return f_maximum(f_minimum(0.2f * (x + 2.5f), 1.0f), 0.0f);
}
static inline float u_hard_sigmoid_slope(float x) { return size_(x) <= 2.5f ? 0.2f : 0.0f; }

static inline float u_elish(float x) { return u_sigmoid(x) * u_elu(x); }
static inline float u_elish_slope(float x) {
    const float up = u_sigmoid(x), down = u_sigmoid_below(x);
    return up * (x < 0 ? fma_(f_expm1(x), down, f_exp(x)) : fma_(x, down, 1.0f));
}

static inline float within_50(float x) { return f_maximum(f_minimum(x, 50.0f), -50.0f); }
static inline float gelu_inner(float v) { return v * fma_(v * v, GELU_CUBIC, GELU); }

static inline float u_gelu(float x) { return x * u_sigmoid(gelu_inner(within_50(x))); }
static inline float u_gelu_slope(float x) {
    const float v = within_50(x), u = gelu_inner(v), du = fma_(v * v, GELU_SLOPE, GELU);
    return u_sigmoid(u) * fma_(v * u_sigmoid_below(u), du, 1.0f);
}

static inline float u_leaky_relu(float x) { return x > 0 ? x : 0.01f * x; }
static inline float u_leaky_relu_slope(float x) { return x > 0 ? 1.0f : 0.01f; }

/* tanh(softplus(x)) = above / below, by t = exp(−|x|). */
static inline float mish_above(float x, float t) { return x < 0 ? t * (t + 2) : 1 + 2 * t; }
static inline float mish_below(float x, float t) {
    return mish_above(x, t) + (x < 0 ? 2.0f : 2 * t * t);
}

static inline float u_mish(float x) {
    const float t = tail(x);
    return x * (mish_above(x, t) / mish_below(x, t));
}

static inline float u_mish_slope(float x) {
    const float t = tail(x), by = 1 / mish_below(x, t);
    const float v = f_maximum(f_minimum(x, 800.0f), -800.0f);
    const float rest = 4 * (1 + t) * t * (x < 0 ? 1.0f : t);
    return by * fma_(v * rest, by, mish_above(x, t));
}

/* exp(−|x|)·I₀ and exp(−|x|)·I₁: a polynomial up to 8; beyond, one in 8/|x|. */
static inline float inner_(float x) {
    return fma_(size_(x) > 8 ? 8.0f : size_(x), 0.25f, -1.0f);
}
static inline float inverse_(float x) { return 8 / (size_(x) < 8 ? 8.0f : size_(x)); }
static inline float outer_(float x) { return fma_(inverse_(x), 2.0f, -1.0f); }
static inline float flat(float x) { return __builtin_sqrtf(inverse_(x)); }
static inline float steep(float x) { return flat(x) * inverse_(x); }

static inline float u_i0e(float x) {
    return size_(x) > 8 ? p_i0e_far(outer_(x)) * flat(x) : p_i0e_near(inner_(x));
}
static inline float u_i1e(float x) {
    const float far = p_i1e_far(outer_(x)) * flat(x) * signed_(8.0f, x); /* x·8/|x| */
    return size_(x) > 8 ? far : x * p_i1e_near(inner_(x));
}
static inline float u_i0e_slope(float x) {
    const float far = p_i0e_slope_far(outer_(x)) * steep(x);
    return f_sign(x) * (size_(x) > 8 ? far : p_i0e_slope_near(inner_(x)));
}
static inline float u_i1e_slope(float x) {
    return size_(x) > 8 ? p_i1e_slope_far(outer_(x)) * steep(x) : p_i1e_slope_near(inner_(x));
}
