"""What to type where a package is missing that only some uses need.

Not here: which packages those are (the module that imports them), the list of extras (`pyproject.toml`).
"""

DISTRIBUTION = "gorila-dba3c-pipeline"
"""Name of this project where packages are installed from; what is imported is called `pipeline`."""


def how_to_install(extra: str) -> str:
    """The command that installs an extra of `pyproject.toml`, in a checkout and elsewhere."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
