"""The parser: what people write, and what hostile texts get."""

import random
import string
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pangaea.errors import PangaeaError, ParseError
from pangaea.functions.catalog import parse
from pangaea.functions.expression import Function
from pangaea.functions.parser import ALIASES, MAX_BYTES, MAX_DEPTH, MAX_NODES
from tests.strategies import functions

READS_AS = {
    "x": "x",
    " x ": "x",
    "sub(exp(x), one(x))": "sub(exp(x), one(x))",
    "exp(x) - 1": "expm1(x)",
    "e^x - 1": "expm1(x)",
    "exp(x) - alpha": "sub(exp(x), alpha*one(x))",
    "alpha*exp(x) - 1": "sub(alpha*exp(x), one(x))",
    "|x|": "abs(x)",
    "||x||": "abs(abs(x))",
    "|α·|x||": "abs(alpha*abs(x))",
    "|x|*|tanh(x)|": "mul(abs(x), abs(tanh(x)))",
    "α|x|·σ(βx)": "mul(alpha*abs(x), sigmoid(beta*x))",
    "1/x": "reciprocal(x)",
    "x^-1": "reciprocal(x)",
    "alpha/x": "alpha*reciprocal(x)",
    "x/alpha*tanh(x)": "mul(div(x, alpha*one(x)), tanh(x))",
    "x^2": "square(x)",
    "x^x^2": "pow(x, square(x))",
    "x^(α·(−1))": "pow(x, alpha*negative(one(x)))",
    "|relu(α|x|)|": "abs(relu(alpha*abs(x)))",
    "x**2": "square(x)",
    "x^tanh(x)^x": "pow(x, pow(tanh(x), x))",
    "-x^2": "negative(square(x))",
    "-x*tanh(x)": "negative(mul(x, tanh(x)))",
    "-x + tanh(x)": "add(negative(x), tanh(x))",
    "x - -x": "sub(x, negative(x))",
    "x*-x": "mul(x, negative(x))",
    "x - x - 1": "sub(sub(x, x), one(x))",
    "x*alpha": "alpha*x",
    "(alpha)*x": "alpha*x",
    "alpha*x^2": "alpha*square(x)",
    "alpha*x*swish(x)": "mul(alpha*x, swish(x))",
    "alpha*(x*swish(x))": "alpha*mul(x, swish(x))",
    "alpha*beta": "alpha*identity(beta*one(x))",
    "alpha": "alpha*one(x)",
    "c*x + a*x + b*x": "add(add(alpha*x, beta*x), gamma*x)",
    "gamma*relu(alpha*x)": "alpha*relu(beta*x)",
    "silu(x)": "swish(x)",
    "SiLU(x)": "swish(x)",
    "arcsinh(x)": "asinh(x)",
    "arctan(x)": "atan(x)",
    "σ(x)": "sigmoid(x)",
    "sigma(x)": "sigmoid(x)",
    "log_sigmoid(x)": "logsigmoid(x)",
    "ln(σ(x))": "logsigmoid(x)",
    "log(1 + exp(x))": "softplus(x)",
    "log(e^x + 1)": "softplus(x)",
    "alpha*gelu(beta*x)": "alpha*gelu(beta*x)",
    "alpha*LeakyReLU(beta*x)": "alpha*leaky_relu(beta*x)",
    "0": "zero(x)",
    "1.0": "one(x)",
    "cosh(1)·Swish(x)": "mul(cosh(one(x)), swish(x))",
    "x × x − x": "sub(mul(x, x), x)",
    "x\n+\tx": "add(x, x)",
    "relu": "relu(x)",
    "wrn-1": "mul(logsigmoid(alpha*x), beta*asinh(x))",
}

HOSTILE = [
    "",
    "x^2^x",
    " ",
    "\t\n",
    "(",
    ")",
    "()",
    "x(",
    "x)",
    "(x",
    "x x",
    "x+",
    "+x",
    "*x",
    "x**",
    "x^",
    "x^^2",
    "x//2",
    "x%2",
    "x = 1",
    "x;x",
    "x,",
    ",",
    "max(x",
    "max(x,",
    "max(x,)",
    "max(x)",
    "max(x, x, x)",
    "relu(x, x)",
    "relu()",
    "relu(",
    "erf",
    "relu relu(x)",
    "log(x)",
    "log(alpha*sigmoid(x))",
    "log(1*exp(x))",
    "log(exp(x) + x)",
    "sin(x)",
    "e",
    "e*x",
    "exp",
    "2*x",
    "x^3",
    "x^2.5",
    "0.5*x",
    "1e400*x",
    "9" * 4000,
    "1" + "0" * 4000 + "*x",
    "0x10",
    "1_000",
    ".",
    "nan",
    "inf",
    "alpha*alpha*x",
    "α*alpha*x",
    "a*x + alpha*x",
    "delta*x",
    "alpha*x + beta*x + gamma*x + d*x",
    "__import__('os').system('true')",
    "eval('1')",
    "(lambda: x)()",
    "x.__class__",
    "x if x else x",
    "[x]",
    "{x}",
    "`x`",
    "'x'",
    '"x"',
    "$(x)",
    "x && x",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%s%s%n",
    "\x00",
    "x\x00",
    "\x1b[31mx",
    "\u200bx",
    "\u202ex",
    "х",  # Cyrillic
    "ｘ",  # fullwidth
    "relu（x）",
    "𝑥",
    "Α*x",  # Greek capital alpha
    "ς(x)",
    "٢*x",  # Arabic two
    "x²",
    "\ud800",
    "|x",
    "|",
    "||",
    "|||",
    "-",
    "--",
    "-" * 4000 + "x",
    "(" * 4000 + "x",
    "(" * 65 + "x" + ")" * 65,
    "relu(" * 65 + "x" + ")" * 65,
    "|" * 130 + "x" + "|" * 130,
    "x^" * 1000 + "x",
    "x+" * 1000 + "x",
    "x*" * 257 + "x",
    "alpha*" * 600 + "x",
    "max(x," * 100 + "x" + ")" * 100,
    "x" * 4097,
    "x" * 4096,
    " " * 4097 + "x",
    "é" * 2049,
    "relu(x)" * 500,
]


@pytest.mark.parametrize(("text", "canonical"), READS_AS.items())
def test_what_people_write(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_means_its_operator(alias: str) -> None:
    inputs = "x, x" if ALIASES[alias] in ("add", "sub", "mul", "div", "pow", "max", "min") else "x"
    assert parse(f"{alias}({inputs})") == parse(f"{ALIASES[alias]}({inputs})")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_hostile_texts_get_one_error_with_a_position(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert isinstance(error, ValueError)
    assert isinstance(error, PangaeaError)
    assert 0 <= error.position <= len(text)
    assert error.expected
    assert (
        str(error) == f"position {error.position}: expected {error.expected}, found {error.found}"
    )
    assert len(str(error)) < 300
    assert str(error).isprintable()


@pytest.mark.parametrize("value", [None, 1, b"x", ["x"]])
def test_what_is_not_a_text_is_refused_too(value: object) -> None:
    with pytest.raises(ParseError, match="expected a text"):
        parse(value)  # type: ignore[arg-type]


def test_rejections_take_milliseconds_and_no_memory() -> None:
    tracemalloc.start()
    started = time.process_time()
    for text in HOSTILE:
        with pytest.raises(ParseError):
            parse(text)
    seconds = time.process_time() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A hundredth of a second for each even on a slow machine; quadratic work would take minutes.
    assert seconds / len(HOSTILE) < 0.1
    assert peak < 8 * 2**20


def test_the_bounds_are_reached_and_not_exceeded() -> None:
    deep = "relu(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH
    assert parse(deep).nodes == MAX_DEPTH
    nested = "(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH
    assert parse(nested) == parse("x")
    summed = "x"
    for _ in range(MAX_DEPTH):
        summed = f"(x+{summed})"
    assert parse(summed).nodes == MAX_DEPTH
    wide = "x"
    for _ in range(8):
        wide = f"max({wide},{wide})"
    assert parse(wide).nodes == MAX_NODES - 1
    with pytest.raises(ParseError, match="256 nodes"):
        parse(f"max(max({wide},x),x)")
    assert parse("x" + " " * (MAX_BYTES - 1)) == parse("x")


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("x + log(x)", 4),
        ("x + sin(x)", 4),
        ("x·(x + 7)", 7),
        ("max(x, x, x)", 8),
        ("x + α·α·x", 6),
        ("relu(x", 6),
    ],
)
def test_errors_point_at_what_is_wrong(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.position == position


def test_errors_suggest_the_name_that_was_meant() -> None:
    with pytest.raises(ParseError, match=r"did you mean .*relu"):
        parse("reluu")


@given(st.text(max_size=60))
def test_any_text_is_a_function_or_a_parse_error(text: str) -> None:
    try:
        f = parse(text)
    except ParseError:
        return
    assert parse(str(f)) == f


@given(functions(), st.data())
def test_a_damaged_text_is_a_function_or_a_parse_error(f: Function, data: st.DataObject) -> None:
    text = str(f)
    place = data.draw(st.integers(0, len(text)))
    damaged = text[:place] + data.draw(st.sampled_from("()*+-,|^xα9 ")) + text[place + 1 :]
    try:
        parse(damaged)
    except ParseError as error:
        assert error.position <= len(damaged)


@pytest.mark.slow
def test_a_million_random_texts() -> None:
    rng = random.Random(0)
    pieces = [
        *ALIASES, "x", "alpha", "β", "c", "relu", "max", "(", ")", ",", "|", "+", "-", "*", "/",
        "^", "**", "0", "1", "2", "log", "e", " ", "·", "−",
    ]  # fmt: skip
    accepted = 0
    for i in range(1_000_000):
        if i % 2:
            text = "".join(rng.choices(pieces, k=rng.randrange(1, 12)))
        else:
            text = "".join(rng.choices(string.printable + "αβγσ·−×é\u200b", k=rng.randrange(24)))
        try:
            f = parse(text)
        except ParseError as error:
            assert 0 <= error.position <= len(text)
        else:
            accepted += 1
            assert parse(str(f)) == f
    assert accepted > 10_000
