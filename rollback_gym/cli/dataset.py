"""`rollback-gym dataset`: data for the rollback curriculum, made or checked."""

import json
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.settings import given
from rollback_gym.cli.theme import console
from rollback_gym.core.files import whole

_INTERRUPTED = 130
_MOST_PROBLEMS = 10
_FORMS = {0: "clean", 1: "one wrong step", 2: "several wrong steps", 3: "a wrong branch"}


class SftForm(StrEnum):
    """The rows of --sft."""

    ANSWERS = "answers"
    DIALOGUES = "dialogues"


@polite
def dataset(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where the samples go, one a line.")
    ] = None,
    level: Annotated[
        int,
        typer.Option(min=1, max=3, metavar="1|2|3", help="One wrong step; several in a row; a wrong branch."),
    ] = 1,
    records: Annotated[int, typer.Option("--records", "-n", min=1, metavar="N", help="How many samples.")] = 1000,
    env: Annotated[str, typer.Option(metavar="ID", help="What is played; see `rollback-gym list`.")] = (
        "Rollback-ALFWorld-v0"
    ),
    split: Annotated[
        str, typer.Option(metavar="NAME", help="train, eval or test, which share no level and no goal.")
    ] = "train",
    seed: options.Seed = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, metavar="W", help="How many processes.")] = 1,
    clean: Annotated[float, typer.Option(metavar="SHARE", help="Of episodes without a mistake.")] = 0.2,
    easier: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Of easier samples of higher levels; 0.2 in level 1's training set."),
    ] = None,
    surprises: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Of two wrong steps in a row; 0.1 in level 1's eval and test sets."),
    ] = None,
    searches: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="In ALFWorld: looks at up to so many places in vain first."),
    ] = 0,
    fumbles: Annotated[
        float,
        typer.Option(metavar="SHARE", help="In ALFWorld: the chance of a refused action before each right one."),
    ] = 0.0,
    notes: Annotated[
        bool, typer.Option(help="In ALFWorld: thoughts are notes of what was read, for models of a few layers.")
    ] = False,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="intent, failed_call, wrong_argument or forgotten_context; may be repeated. By default all.",
        ),
    ] = None,
    data: options.Data = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="For gym.make; may be repeated. split=NAME: its levels."),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="NAME=VALUE", help="How a model is asked, such as think=false; see Prompts."),
    ] = None,
    sft: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what is to be learnt to this file, too, in rows for TRL's SFT."),
    ] = None,
    sft_form: Annotated[
        SftForm,
        typer.Option(
            "--sft-form",
            metavar="answers|dialogues",
            help="A row for each right answer, prompt and completion; or a dialogue a row, with a mask in `train`.",
        ),
    ] = SftForm.ANSWERS,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files.")] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Make nothing: replay and check the samples of this file."),
    ] = None,
    trust: options.Trust = False,
) -> None:
    """Make training data: episodes with a mistake, the rollback to before it, and the way on.

    The same command again goes on where it was stopped. Every sample has been replayed before it is written.
    """
    from rollback_gym.progress import progress
    from rollback_gym.study.dataset import make

    if check is not None:
        _free(sft, check, force)
        _check(check, trust)
        if sft is not None:
            _write_conversations(check, sft, sft_form)
        return
    if out is None:
        raise Refused("Say where the samples go: --out FILE. Or check those of a file: --check FILE.")
    if out.exists() and not force:
        more = f", or go on from it with --check {out} --sft {sft}" if sft else ""
        raise Refused(f"{out} exists already; choose another name, or pass --force to overwrite it{more}.")
    _free(sft, out, force)
    kwargs = {**given(option, "--option"), **({} if data is None else {"data": data})}
    recipe = _recipe(
        kind,
        given(prompt, "--prompt"),
        level=level,
        records=records,
        env=env,
        options=kwargs,
        split=split,
        seed=seed,
        clean=clean,
        easier=easier,
        surprises=surprises,
        searches=searches,
        fumbles=fumbles,
        notes=notes,
    )
    try:
        with progress(records, "samples") as advance:
            there = make(recipe, out, workers=workers, report=advance)
    except KeyboardInterrupt:
        console().print(Text("Interrupted. The same command goes on.", "bold"))
        raise typer.Exit(_INTERRUPTED) from None
    _tell(out, there)
    if sft is not None:
        _write_conversations(out, sft, sft_form)


def _free(sft: Path | None, samples: Path, force: bool) -> None:
    """Raise Refused where the rows cannot be written to `sft`, before anything is made."""
    if sft is None:
        return
    if sft.absolute() == samples.absolute() or (sft.exists() and samples.exists() and sft.samefile(samples)):
        raise Refused(f"--sft {sft} is the file of the samples; choose another name.")
    if sft.exists() and not force:
        raise Refused(f"{sft} exists already; choose another name for --sft, or pass --force to overwrite it.")
    if not sft.absolute().parent.is_dir():
        raise Refused(f"There is no folder {sft.parent} for --sft; make it first.")


def _recipe(kinds: list[str] | None, prompts: dict[str, Any], **settings: Any) -> Any:
    """What to make, checked, so that a mistake is told at once."""
    from rollback_gym.play.prompts import Prompts
    from rollback_gym.study.dataset import Recipe, check_recipe
    from rollback_gym.study.inject import Kind

    unknown = prompts.keys() - set(Prompts._fields)
    if unknown:
        raise Refused(f"--prompt has no {', '.join(sorted(unknown))}; there are {', '.join(Prompts._fields)}.")
    for name in kinds or ():
        if name not in tuple(Kind):
            raise Refused(f"There is no kind {name!r}; there are {', '.join(Kind)}.")
    chosen = tuple(Kind(name) for name in dict.fromkeys(kinds)) if kinds else tuple(Kind)
    with asked_for():
        recipe = Recipe(**settings, kinds=chosen, prompts=Prompts(**prompts))
        check_recipe(recipe)
    return recipe


def _tell(out: Path, there: int) -> None:
    from rollback_gym.study.samples import read

    forms: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    for sample in read(out):
        forms[sample["form"]] += 1
        kinds.update([sample["rollback_type"]] if sample["rollback_type"] else [])
    told = Text.assemble((f"{forms.total():,} samples, every one replayed, are in {out}", "bold"))
    if there:
        told.append(f"; {there:,} were made before")
    told.append(f".\n{_counted(forms, kinds)}")
    console().print(told)


def _counted(forms: Any, kinds: Any) -> str:
    by_form = ", ".join(f"{_FORMS[form]} {forms[form]:,}" for form in sorted(forms))
    by_kind = ", ".join(f"{kind} {kinds[kind]:,}" for kind in sorted(kinds))
    return f"{by_form}{'; ' if by_kind else ''}{by_kind}."


def _check(file: Path, trusted: bool) -> None:
    from rollback_gym.study.check import check
    from rollback_gym.study.samples import read

    with asked_for():
        checked = check(read(file), trusted=trusted)
    out = console()
    if not checked.problems:
        counted = _counted(checked.forms, checked.kinds) if checked.samples else "It is empty."
        out.print(Text(f"The same, word for word: {checked.samples:,} samples. {counted}", "won"), soft_wrap=True)
        return
    for id, problem in checked.problems[:_MOST_PROBLEMS]:
        out.print(Text(f"sample {id}: {problem}.", "rising"), soft_wrap=True)
    if len(checked.problems) > _MOST_PROBLEMS:
        out.print(Text(f"and {len(checked.problems) - _MOST_PROBLEMS:,} more.", "rising"))
    raise typer.Exit(1)


def _write_conversations(out: Path, sft: Path, form: SftForm) -> None:
    from rollback_gym.study.samples import answer_rows, read, sft_rows

    rows = answer_rows if form is SftForm.ANSWERS else sft_rows
    with whole(sft) as draft, open(draft, "w", encoding="ascii", newline="\n") as file:
        file.writelines(_lines(row for sample in read(out) for row in rows(sample)))


def _lines(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    return (f"{json.dumps(row, allow_nan=False, separators=(',', ':'))}\n" for row in rows)
