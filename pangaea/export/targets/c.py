"""C: a function of doubles and its gradient, in a header that needs libm alone."""

import re

from pangaea.export.request import Request
from pangaea.export.writing import SIGNS, calls, expression, gradients, used, wrapped
from pangaea.functions.learnable import steps_of
from pangaea.functions.operators import ATOM, Notation

OPERATORS: dict[str, Notation] = {
    **SIGNS,
    "zero": Notation("0.0", ATOM, (ATOM,)),
    "one": Notation("1.0", ATOM, (ATOM,)),
    **calls(
        {
            "abs": "fabs",
            "reciprocal": "reciprocal",
            "square": "square",
            "exp": "exp",
            "erf": "erf",
            "erfc": "erfc",
            "sinh": "sinh",
            "cosh": "cosh",
            "tanh": "tanh",
            "expm1": "expm1",
            "sigmoid": "sigmoid",
            "logsigmoid": "log_sigmoid",
            "asinh": "asinh",
            "atan": "atan",
            "bessel_i0e": "bessel_i0e",
            "bessel_i1e": "bessel_i1e",
            "relu": "relu",
            "elu": "elu",
            "selu": "selu",
            "swish": "swish",
            "softplus": "softplus",
            "softsign": "softsign",
            "hard_sigmoid": "hard_sigmoid",
            "div": "divide",
            "pow": "pow",
            "max": "maximum",
            "min": "minimum",
            "elish": "elish",
            "gelu": "gelu",
            "leaky_relu": "leaky_relu",
            "mish": "mish",
        }
    ),
}

# By each input; 0 where it has no say.
SLOPES: dict[str, tuple[str, ...]] = {
    "zero": ("0",),
    "one": ("0",),
    "identity": ("1",),
    "negative": ("-1",),
    "abs": ("sign({a})",),
    "reciprocal": ("reciprocal_slope({a})",),
    "square": ("(2 * {a})",),
    "exp": ("exp({a})",),
    "erf": ("gauss({a})",),
    "erfc": ("-gauss({a})",),
    "sinh": ("cosh({a})",),
    "cosh": ("sinh({a})",),
    "tanh": ("tanh_slope({a})",),
    "expm1": ("exp({a})",),
    "sigmoid": ("sigmoid_slope({a})",),
    "logsigmoid": ("sigmoid(-{a})",),
    "asinh": ("(1 / hypot(1, {a}))",),
    "atan": ("(1 / (1 + {a} * {a}))",),
    "bessel_i0e": ("bessel_i0e_slope({a})",),
    "bessel_i1e": ("bessel_i1e_slope({a})",),
    "relu": ("({a} > 0 ? 1.0 : 0.0)",),
    "elu": ("({a} >= 0 ? 1.0 : exp({a}))",),
    "selu": ("selu_slope({a})",),
    "swish": ("swish_slope({a})",),
    "softplus": ("sigmoid({a})",),
    "softsign": ("square(1 / (1 + fabs({a})))",),
    "hard_sigmoid": ("(fabs({a}) <= 2.5 ? 0.2 : 0.0)",),
    "add": ("1", "1"),
    "sub": ("1", "-1"),
    "mul": ("{b}", "{a}"),
    "div": ("reciprocal({b})", "({a} * reciprocal_slope({b}))"),
    "pow": ("power_slope({a}, {b})", "power_exponent_slope({a}, {b})"),
    "max": ("({a} >= {b} ? 1.0 : 0.0)", "({a} >= {b} ? 0.0 : 1.0)"),
    "min": ("({a} <= {b} ? 1.0 : 0.0)", "({a} <= {b} ? 0.0 : 1.0)"),
    "elish": ("elish_slope({a})",),
    "gelu": ("gelu_slope({a})",),
    "leaky_relu": ("({a} > 0 ? 1.0 : 0.01)",),
    "mish": ("mish_slope({a})",),
}

_ONE, _TWO = "(double x)", "(double a, double b)"


def _definition(name: str, arguments: str, body: str, remark: str = "") -> str:
    comment = f"// {remark}\n" if remark else ""
    lines = [f"    {line}\n" for line in body.strip().splitlines()]
    return f"{comment}static inline double {name}{arguments} {{\n{''.join(lines)}}}\n"


_BODIES: dict[str, tuple[str, ...]] = {
    "sign": (_ONE, "return x > 0 ? 1.0 : x < 0 ? -1.0 : x;"),
    "square": (_ONE, "return x * x;"),
    "divide": (_TWO, "return b == 0 ? 0.0 : a / b;", "0 where the divisor is 0"),
    "reciprocal": (_ONE, "return divide(1.0, x);"),
    "reciprocal_slope": (_ONE, "return -square(reciprocal(x));"),
    "power_slope": (_TWO, "return b == 0 ? 0.0 : b * pow(a, b - 1);"),
    "power_exponent_slope": (
        _TWO,
        "return a > 0 ? pow(a, b) * log(a) : 0.0;",
        "the exponent has no slope where the base is not positive",
    ),
    "maximum": (_TWO, "return a >= b || isnan(a) ? a : b;", "unlike fmax, NaN stays NaN"),
    "minimum": (_TWO, "return a <= b || isnan(a) ? a : b;", "unlike fmin, NaN stays NaN"),
    "gauss": (_ONE, "return 1.1283791670955126 * exp(-x * x);", "the slope of erf"),
    "tanh_slope": (
        _ONE,
        "const double t = exp(-2 * fabs(x));\nreturn 4 * t / square(1 + t);",
        "1 - tanh(x)^2, without the cancellation",
    ),
    "sigmoid": (
        _ONE,
        "const double t = exp(-fabs(x));\nreturn (x >= 0 ? 1.0 : t) / (1 + t);",
    ),
    "sigmoid_slope": (_ONE, "return sigmoid(x) * sigmoid(-x);"),
    "softplus": (_ONE, "return maximum(x, 0.0) + log1p(exp(-fabs(x)));"),
    "log_sigmoid": (_ONE, "return minimum(x, 0.0) - log1p(exp(-fabs(x)));"),
    "relu": (_ONE, "return x < 0 ? 0.0 : x;"),
    "elu": (_ONE, "return x >= 0 ? x : expm1(x);"),
    "selu": (
        _ONE,
        "return 1.0507009873554805 * (x >= 0 ? x : 1.6732632423543772 * expm1(x));",
    ),
    "selu_slope": (
        _ONE,
        "return 1.0507009873554805 * (x >= 0 ? 1.0 : 1.6732632423543772 * exp(x));",
    ),
    "swish": (_ONE, "return x * sigmoid(x);"),
    "swish_slope": (_ONE, "return sigmoid(x) * (1 + x * sigmoid(-x));"),
    "softsign": (_ONE, "return x / (1 + fabs(x));"),
    "hard_sigmoid": (_ONE, "return x < -2.5 ? 0.0 : x > 2.5 ? 1.0 : 0.2 * (x + 2.5);"),
    "leaky_relu": (_ONE, "return x > 0 ? x : 0.01 * x;"),
    "elish": (_ONE, "return (x >= 0 ? x : expm1(x)) * sigmoid(x);"),
    "elish_slope": (
        _ONE,
        "if (x >= 0) return sigmoid(x) * (1 + x * sigmoid(-x));\n"
        "return sigmoid(x) * (exp(x) + expm1(x) * sigmoid(-x));",
    ),
    "gelu": (
        _ONE,
        "const double v = fmin(fmax(x, -50.0), 50.0);\n"
        "return x * sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v));",
        "the tanh form, as a sigmoid: it keeps its digits in the tail",
    ),
    "gelu_slope": (
        _ONE,
        "const double v = fmin(fmax(x, -50.0), 50.0);\n"
        "const double u = 1.5957691216057308 * (v + 0.044715 * v * v * v);\n"
        "const double du = 1.5957691216057308 * (1 + 0.134145 * v * v);\n"
        "return sigmoid(u) * (1 + v * sigmoid(-u) * du);",
    ),
    "mish": (
        _ONE,
        "const double t = exp(-fabs(x));\n"
        "if (x >= 0) return x * ((1 + 2 * t) / (1 + 2 * t + 2 * t * t));\n"
        "return x * (t * (t + 2) / (t * (t + 2) + 2));",
        "x tanh(softplus(x)), by exp(-|x|) alone",
    ),
    "mish_slope": (
        _ONE,
        "const double t = exp(-fabs(x)), v = fmin(fmax(x, -800.0), 800.0);\n"
        "const double low = x >= 0 ? t : 1.0, s = square(1 + t) + low * low;\n"
        "return (x >= 0 ? 1 + 2 * t : t * (t + 2)) / s + v * 4 * (1 + t) * t * low / (s * s);",
    ),
    "bessel": (
        "(int order, double x)",
        """
const double size = fabs(x);
double term, total;
if (size > 30) {
    term = total = 1 / sqrt(6.283185307179586 * size);
    for (int k = 1; k < 20; k++) {
        term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * size);
        total += term;
    }
    return total;
}
term = total = order ? size / 2 : 1.0;
for (int k = 1; term > total * 1e-18; k++) {
    term *= square(size / 2) / (k * (k + order));
    total += term;
}
return total * exp(-size);
""",
        "exp(-|x|) I(|x|) of order 0 or 1: its power series, beyond 30 the asymptotic one",
    ),
    "bessel_i0e": (_ONE, "return bessel(0, x);"),
    "bessel_i1e": (_ONE, "return sign(x) * bessel(1, x);"),
    "bessel_i0e_slope": (_ONE, "return sign(x) * (bessel(1, x) - bessel(0, x));"),
    "bessel_i1e_slope": (
        _ONE,
        "const double i1 = bessel(1, x), over_x = x == 0 ? 0.5 : i1 / fabs(x);\n"
        "return bessel(0, x) - i1 - over_x;",
    ),
}
DEFINITIONS = {name: _definition(name, *body) for name, body in _BODIES.items()}
# Words of C and of its library: a function may not be called so.
_RESERVED = set(re.findall(r"[a-z]\w*", " ".join(DEFINITIONS.values()))) - {*DEFINITIONS}
_RESERVED |= {row.template.split("(")[0] for row in OPERATORS.values()} - {*DEFINITIONS}
# The language's own words, and what else <math.h> declares, there in three kinds each.
_WORDS = """asm auto break case char const continue default do double else enum extern float for
goto if inline int long main register restrict return short signed signgam sizeof static struct
switch typedef typeof union unsigned void volatile while"""
_DECLARED = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp
exp10 exp2 expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1
jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow remainder remquo rint round scalb scalbln scalbn significand sin sincos sinh sqrt tan
tanh tgamma trunc y0 y1 yn"""
_RESERVED |= {*_WORDS.split(), *(f"{n}{kind}" for n in _DECLARED.split() for kind in ("", *"fl"))}


def export(request: Request) -> str:
    function, name = request.function, request.identifier(_RESERVED)
    names = ("x", *function.parameters)
    arguments = ", ".join(f"double {of}" for of in names)
    steps = steps_of(function)
    shared, result = expression(steps, OPERATORS, function.parameters)
    value = [*(f"const double {local} = {text};" for local, text in shared), f"return {result};"]
    lines, slopes = gradients(steps, OPERATORS, SLOPES, function.parameters)
    pull = [f"const double {local} = {text};" for local, text in lines]
    pull += [f"gradient[{i}] = {text};" for i, text in enumerate(slopes)]
    text = (
        "// FORMULA\n"
        f"static inline double NAME({arguments}) {{\n{_body(value, names)}}}\n\n"
        f"// The derivatives by {', '.join(names)}.\n"
        f"static inline void NAME_gradient({arguments}, double gradient[{len(names)}]) {{\n"
        f"{_body(pull, names)}}}\n"
    )
    text = "\n".join([*used(text, DEFINITIONS), *_values(request), text])
    # Several such headers in one file must not define the same thing twice.
    for helper in DEFINITIONS:
        text = re.sub(rf"\b{helper}\(", f"NAME_{helper}(", text)
    guard = f"{name.upper()}_H"
    head = f"#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n\n"
    text = text.replace("NAME", name).replace("FORMULA", function.readable())
    return f"{head}{text}\n#endif\n"


def _body(lines: list[str], arguments: tuple[str, ...]) -> str:
    """The lines, after a word on arguments that have no say, which compilers complain about."""
    words = set(re.findall(r"\w+", " ".join(lines)))
    silent = [f"(void){name};" for name in arguments if name not in words]
    return "".join(f"    {line}\n" for line in (*silent, *lines))


def _values(request: Request) -> list[str]:
    """The values, where somebody gave them: numbers, or an array with one for each channel."""
    texts = []
    for parameter, number in request.values.numbers.items() if request.given else ():
        if isinstance(number, list):
            numbers = wrapped(number).replace("[", "{").replace("]", "}")
            texts.append(f"static const double NAME_{parameter}[] = {numbers};\n")
        else:
            texts.append(f"static const double NAME_{parameter} = {number!r};\n")
    return texts
