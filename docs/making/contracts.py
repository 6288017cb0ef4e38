"""The page of an environment, from the docstring of its class: read as text, so that nothing of it is imported."""

import ast
import inspect
import re
from pathlib import Path
from typing import NamedTuple

HEADINGS = (
    "Observation space",
    "Action space",
    "Starting state",
    "Rewards",
    "Episode end",
    "Information",
    "Snapshot contents",
    "Rollback",
    "Oracle",
    "Differences from the original",
    "Version history",
)
"""What every environment says of itself: Gymnasium's headings, and four of our own, in this order."""

_HEADING = re.compile(r"^([A-Z][^:`]*): ?(.*)$")
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*)$")


class Contract(NamedTuple):
    """What a class says of itself."""

    summary: str
    sections: dict[str, str]
    """By heading. A heading may go on after its name, as in `Rewards, the same for both`."""
    arguments: dict[str, str]
    defaults: dict[str, str]
    """Source text, of the parameters of `__init__`."""


def contract(source: Path, name: str) -> Contract:
    """What the class `name` in the module `source` says of itself. Raises ValueError where there is none."""
    found = [n for n in ast.parse(source.read_text(encoding="utf-8")).body if isinstance(n, ast.ClassDef)]
    node = next((node for node in found if node.name == name), None)
    docstring = ast.get_docstring(node) if node else None
    if node is None or docstring is None:
        raise ValueError(f"{source} has no class {name} with a docstring.")
    summary, _, rest = inspect.cleandoc(docstring).partition("\n\n")
    sections = {title: _joined(text) if title != "Args" else text for title, text in _sections(rest).items()}
    arguments = _arguments(sections.pop("Args", ""))
    return Contract(summary.replace("\n", " "), sections, arguments, _defaults(node))


def markdown(told: Contract) -> str:
    """A section for each heading, and a table of the arguments."""
    parts = [f"## {title}\n\n{text[:1].upper()}{text[1:]}" for title, text in told.sections.items()]
    rows = [
        f"| `{name}` | {_cell(_code(told.defaults[name]))} | {_cell(text)} |" for name, text in told.arguments.items()
    ]
    parts.append("\n".join(["## Arguments\n", "| argument | default | |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


def _sections(text: str) -> dict[str, str]:
    """The text below each heading that begins a line, indented lines as they are."""
    sections: dict[str, str] = {}
    title = ""
    for line in text.splitlines():
        if match := _HEADING.match(line):
            title = match[1]
            sections[title] = match[2]
        elif title:
            sections[title] += "\n" + line
    return sections


def _arguments(text: str) -> dict[str, str]:
    arguments: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if match := _ARGUMENT.match(line):
            name = match[1]
            arguments[name] = match[2]
        elif name and line.strip():
            arguments[name] += " " + line.strip()
    return arguments


def _defaults(node: ast.ClassDef) -> dict[str, str]:
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if made is None:
        return {}
    given = zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
    return {argument.arg: ast.unparse(default) if default else "" for argument, default in given}


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines()).strip()


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
