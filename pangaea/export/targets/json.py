"""JSON: the tree as plain data, with its texts and the values of its parameters."""

import json
from typing import Any

from pangaea.export.request import Request
from pangaea.functions.expression import Expression, Path


def export(request: Request) -> str:
    function, values = request.function, request.values
    names = dict(zip(function.parameter_edges, function.parameters, strict=True))

    def tree(node: Expression, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {"operator": node.operator}
        if path in names:
            data["times"] = names[path]
        if node.inputs:
            data["inputs"] = [tree(child, (*path, i)) for i, child in enumerate(node.inputs)]
        return data

    data = {
        "name": request.name,
        "canonical": str(function),
        "readable": function.readable(),
        "latex": function.latex(),
        "parameters": dict(values.numbers),
        "shape": list(values.shape),
        "channel_dim": values.channel_dim,
        "tree": tree(function.expression, ()),
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
