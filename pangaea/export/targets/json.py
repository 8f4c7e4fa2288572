"""JSON: a function as plain data, with its texts and the values of its parameters.

An expression is a tree; a learnable baseline is steps, which name earlier values, x being 0.
"""

import json
from typing import Any

from pangaea.export.request import Request
from pangaea.functions.expression import Expression, Function, Path
from pangaea.functions.learnable import Learnable


def export(request: Request) -> str:
    function, values = request.function, request.values
    data = {
        "name": request.name,
        "canonical": str(function),
        "readable": function.readable(),
        "latex": function.latex(),
        "parameters": dict(values.numbers),
        "shape": list(values.shape),
        "channel_dim": values.channel_dim,
        **(
            {"steps": _steps(function)}
            if isinstance(function, Learnable)
            else {"tree": _tree(function)}
        ),
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _tree(function: Function) -> dict[str, Any]:
    names = dict(zip(function.parameter_edges, function.parameters, strict=True))

    def tree(node: Expression, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {"operator": node.operator}
        if path in names:
            data["times"] = names[path]
        if node.inputs:
            data["inputs"] = [tree(child, (*path, i)) for i, child in enumerate(node.inputs)]
        return data

    return tree(function.expression, ())


def _steps(function: Learnable) -> list[dict[str, Any]]:
    return [
        {"times": function.parameters[step.parameter], "inputs": [*step.inputs]}
        if step.operator is None
        else {"operator": step.operator, "inputs": [*step.inputs]}
        for step in function.steps
    ]
