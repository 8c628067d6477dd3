"""The tree of exceptions that is drawn on top of `pipeline.errors` is the one that is there."""

import inspect
import re

from pipeline import errors

BRANCH = re.compile(r"^ {4}((?:│ {3}| {4})*)[├└]── (\w+) +\S", re.MULTILINE)


def drawn_tree(text: str) -> dict[str, str]:
    """Name -> name of its parent, of each branch that is drawn."""
    parents, found = ["PipelineError"], {}
    for indent, name in BRANCH.findall(text):
        depth = len(indent) // 4 + 1
        parents[depth:] = [name]
        found[name] = parents[depth - 1]
    return found


def test_the_tree_that_is_drawn_is_the_one_that_is_there() -> None:
    classes = [value for value in vars(errors).values() if inspect.isclass(value)]
    ours = [one for one in classes if one.__module__ == errors.__name__ and one is not errors.PipelineError]
    real = {one.__name__: one.__bases__[0].__name__ for one in ours}
    assert "StarvedError" in real
    assert drawn_tree(errors.__doc__ or "") == real


def test_branches_of_branches_belong_to_them() -> None:
    text = "    Base\n    ├── A    a\n    │   ├── B    b\n    │   └── C    c\n    └── D    d\n"
    assert drawn_tree(text) == {"A": "PipelineError", "B": "A", "C": "A", "D": "PipelineError"}
