"""What array libraries lack, as source that travels with an export: gradients left to them."""

_DEFINITIONS = {
    "reciprocal": '''
def reciprocal(x):
    """1 / x, and 0 without a gradient where x is 0."""
    zero = x == 0
    return np.where(zero, 0.0, 1 / np.where(zero, 1.0, x))
''',
    "divide": '''
def divide(a, b):
    """a / b, and 0 without a gradient where b is 0."""
    zero = b == 0
    return np.where(zero, 0.0, a / np.where(zero, 1.0, b))
''',
    "power": '''
def power(a, b):
    """a ** b; the exponent has no gradient where the base is not positive."""
    positive = a > 0
    above = np.power(np.where(positive, a, 1.0), b)
    below = np.power(np.where(positive | (b == 0), 1.0, a), stop_gradient(b))
    return np.where(positive, above, below)
''',
    "maximum": '''
def maximum(a, b):
    """The larger one; where both are equal, the first has the whole gradient."""
    return np.where((a >= b) | np.isnan(a), a, b)
''',
    "minimum": '''
def minimum(a, b):
    """The smaller one; where both are equal, the first has the whole gradient."""
    return np.where((a <= b) | np.isnan(a), a, b)
''',
    "elish": """
def elish(x):
    return elu(x) * sigmoid(x)
""",
    "gelu": '''
def gelu(x):
    """The tanh form, as a sigmoid: it keeps its digits in the tail, and does not overflow."""
    v = np.clip(x, -50.0, 50.0)
    return x * sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))
''',
}


def definitions(library: str, names: dict[str, str]) -> dict[str, str]:
    """The definitions for a library with NumPy's names; `names` are its names for the others."""
    texts = {}
    for name, text in _DEFINITIONS.items():
        for plain, full in {**names, "np.": f"{library}."}.items():
            text = text.replace(f" {plain}", f" {full}").replace(f"({plain}", f"({full}")
        texts[name] = text
    return texts
