"""Which rules a game file was made for: the fingerprints of the PDDL domains and text grammars that we play.

The rules of the native engine *are* ALFWorld's domain and grammar, so a file that carries others is refused rather
than played wrongly. Thousands of files share one of each, and a fingerprint is computed once for all of them.
"""

import hashlib
import json
import re
from functools import cache, lru_cache

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.made import pddl

# Of ALFWorld's own: the released data (json_2.1.1), and what `alfworld-generate` of alfworld 0.4.2 writes. Where the
# two differ they play alike: in the spelling of the help text, and in a receptacle type that `compile_level` refuses.
_DOMAINS = (
    "e733dcfa5154f9d53cbe57f3a9538fac6258eb371abd658b6a15de4c28faa85f",
    "915e118f4f32b4d826bf53c99e860dd85831afffb1a31ad333f063ce005b7122",
)
_GRAMMARS = (
    "188778488f0062d7c0896e47cf20058b0b21e3280b23a835bef9afa9b9cd13b0",
    "f28ef2c029097028786ed63fd0b6c0185f3c6e736d2e99a3923d9e047cbdae84",
)

_TASK = re.compile(r'"Your task is to: ((?:[^"\\]|\\.)*)"')
_TASK_BLANK = "Your task is to: TASK"
_STRING_OR_SPACE = re.compile(r'"""|"(?:[^"\\]|\\.)*"|\s+')
# What TextWorld's grammar gives a meaning to, or drops.
_INTERPRETED = re.compile(r'[;|"<>\[\]#{}\\\r\n\t]')


def check_rules(domain: str, grammar: str, where: str) -> str:
    """The task sentence in `grammar`. Raises DataError where the rules are not ALFWorld's; `where` names the file."""
    domains, grammars = _known()
    if domain_fingerprint(domain) not in domains:
        raise DataError(_foreign(where, "PDDL domain", "rules"))
    sentences = _TASK.findall(grammar)
    if len(sentences) != 1:
        raise DataError(
            f"{where}: expected one task sentence ('Your task is to: ...') in the grammar, found {len(sentences)}. "
            "Fetch or generate the file again."
        )
    if grammar_fingerprint(grammar.replace(f"Your task is to: {sentences[0]}", _TASK_BLANK)) not in grammars:
        raise DataError(_foreign(where, "text grammar", "texts"))
    try:
        task = json.loads(f'"{sentences[0]}"')
    except ValueError as error:
        raise DataError(f"{where}: the task sentence is damaged ({error}). Fetch the file again.") from error
    if not isinstance(task, str) or not task.strip() or _INTERPRETED.search(task):
        raise DataError(
            f"{where}: the task sentence {task!r:.200} must be one line of text without any of "
            " ; | \" < > [ ] # { } \\, to which TextWorld's grammar gives a meaning. Change the sentence."
        )
    return task


@lru_cache(maxsize=16)
def domain_fingerprint(domain: str) -> str:
    """Hash of a PDDL domain without its comments, spacing and case."""
    return _hash(" ".join(re.sub(r"([()])", r" \1 ", re.sub(r";[^\n]*", "", domain.lower())).split()))


@lru_cache(maxsize=16)
def grammar_fingerprint(grammar: str) -> str:
    """Hash of a grammar without the spacing between its tokens; its task sentence must read `TASK`."""
    return _hash(_STRING_OR_SPACE.sub(lambda token: "" if token[0].isspace() else token[0], grammar))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@cache
def _known() -> tuple[frozenset[str], frozenset[str]]:
    """The fingerprints of every domain and every grammar that the native engine plays: ALFWorld's and our own."""
    return (
        frozenset([*_DOMAINS, domain_fingerprint(pddl.DOMAIN)]),
        frozenset([*_GRAMMARS, grammar_fingerprint(pddl.GRAMMAR)]),
    )


def _foreign(where: str, part: str, consequence: str) -> str:
    return (
        f"{where}: the file's {part} is not ALFWorld's, so its {consequence} may differ from the native engine's. "
        "Only games with ALFWorld's rules are played here; TextWorld itself (textworld.envs.pddl.PddlEnv) plays any."
    )
