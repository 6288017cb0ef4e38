"""The page in a real browser: what it shows, its keys and addresses, hostile text, and how fast it is."""

import json
import math
import re
from importlib.resources import files

import gymnasium as gym
import pytest

import rollback_gym  # noqa: F401  # registers the environments
from rollback_gym.play.records import Call
from rollback_gym.study.report import report
from tests.study import chromium, hostile
from tests.study.episodes import Back, Step, episode

FEW = [
    episode(3, 2, 1, 0, id="straight"),
    episode(5, 4, Step(6, injected="wrong_argument"), 6, Back(1), 3, 2, 1, 0, id="back", kind="heat"),
    episode(3, 2, math.inf, math.inf, id="fatal", outcome="lost"),
    episode(3, 3, Step(3, invalid="no such thing", text="I will dance."), Back(7, refused=True), id="idle"),
    episode(2, 3, 3, 3, 3, id="late", cap=4),
    episode(3, 2, id="unjudged", oracle=False),
]
MANY = 2000


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = chromium.find()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(chromium.NAMES)} is on the PATH")
    with chromium.running(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def few():
    return report(FEW, "run")


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page; at the end nothing may have been complained about or asked of a network."""
    tabs = []

    def open_(page, *, address="", width=1366, height=768, dark=False):
        path = tmp_path / f"{len(tabs)}.html"
        path.write_text(page, encoding="utf-8")
        tab = browser.tab()
        tab.size(width, height)
        tab.dark(dark)
        tab.open(path.as_uri() + address)
        tabs.append((tab, path))
        return tab

    yield open_
    for tab, path in tabs:
        assert tab.complaints == []
        assert {request.partition("#")[0] for request in tab.requests} == {path.as_uri()}
        tab.close()


def text(tab, selector):
    return tab.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")


def texts(tab, selector):
    return tab.js(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)")


def choose(tab, id, value):
    tab.js(
        f"(() => {{ const one = document.getElementById({json.dumps(id)}); one.value = {json.dumps(value)};"
        "one.dispatchEvent(new Event(one.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true })); })()"
    )


def listed(tab):
    """The ids of the episodes in the list, which fits into the window."""
    rows = tab.js("[...document.querySelectorAll('.episode')].map((row) => Number(row.id.slice(8)))")
    return [FEW[row].id for row in rows]


def turn(tab):
    return tab.js("new URLSearchParams(location.hash.slice(1)).get('turn')")


def at(tab):
    return tab.js("new URLSearchParams(location.hash.slice(1)).get('episode')")


def ready(tab, id):
    tab.until(f"new URLSearchParams(location.hash.slice(1)).get('episode') === {json.dumps(id)}")


def of_file(browser, name, expression):
    """What an expression gives beside the functions of one file of the page."""
    source = (files("rollback_gym.study") / "page" / name).read_text(encoding="utf-8")
    tab = browser.tab()
    value = tab.js(f"(() => {{ {source}\n return {expression}; }})()")
    tab.close()
    return value


# The summary.


def test_the_summary_says_what_the_diagnosis_says(opened, few):
    tab = opened(few)
    shown = text(tab, ".summary")
    assert "33%" in text(tab, ".tile")  # 2 of 6 won
    for heading in ("Success", "First pivotal mistake", "L lost by pivotal mistakes", "Rollbacks", "L(s) over the"):
        assert heading in shown
    for nonsense in ("undefined", "NaN", "[object", "null", "Infinity"):
        assert nonsense not in shown
    assert tab.js("document.title") == "run"


def test_a_bar_of_a_plot_leads_to_its_episodes(opened, few):
    tab = opened(few)
    tab.js("document.querySelector('[aria-label^=\"turn 2: 2 episodes\"]').dispatchEvent(new Event('click'))")
    assert listed(tab) == ["back", "fatal"]
    assert text(tab, "#narrowed") == "first pivot at 2"
    tab.js("document.querySelector('[aria-label^=\"turns added to L ∞: 1 \"]').dispatchEvent(new Event('click'))")
    assert listed(tab) == ["fatal"]
    tab.js("document.getElementById('clear').click()")
    assert len(listed(tab)) == len(FEW)


def test_a_run_without_an_oracle_is_shown_without_lengths(opened):
    tab = opened(report([episode(3, 2, 1, oracle=False)], "run"))
    assert "First pivotal" not in text(tab, ".summary")
    tab.press("j")
    ready(tab, "e")
    assert text(tab, ".turns").count("L ") == 0
    assert tab.js("document.querySelectorAll('.figure .hit').length") == 3


# The list.


def test_filters(opened, few):
    tab = opened(few)
    assert listed(tab) == [one.id for one in FEW]
    choose(tab, "pivot", "yes")
    assert listed(tab) == ["back", "fatal", "late"]
    choose(tab, "back", "no")
    assert listed(tab) == ["fatal", "late"]
    choose(tab, "pivot", "")
    choose(tab, "back", "")
    choose(tab, "kind", "heat")
    assert listed(tab) == ["back"]
    choose(tab, "kind", "")
    tab.js("document.querySelector('.chip[value=truncated]').click()")
    assert listed(tab) == ["idle", "late", "unjudged"]
    assert text(tab, "#count") == "3 of 6 episodes"


@pytest.mark.parametrize(
    ("order", "first", "last"),
    [
        ("turns-down", "back", "unjudged"),
        ("turns-up", "unjudged", "back"),
        ("start-down", "back", "unjudged"),
        ("start-up", "late", "unjudged"),
        ("pivot-up", "late", "unjudged"),
        ("pivot-down", "back", "unjudged"),
    ],
)
def test_orders(opened, order, first, last, few):
    tab = opened(few)
    choose(tab, "sort", order)
    assert (listed(tab)[0], listed(tab)[-1]) == (first, last)


def test_the_search_finds_what_was_said_in_an_episode(opened):
    tab = opened(report([one._replace(task=f"the task of {one.id}") for one in FEW], "run"))
    choose(tab, "search", "OF late")
    assert listed(tab) == ["late"]
    choose(tab, "search", "dance")  # only in a model's answer, which lies packed
    tab.until("document.querySelectorAll('.episode').length === 1")
    assert listed(tab) == ["idle"]
    choose(tab, "search", "nowhere at all")
    assert "No episode" in text(tab, "#rows")
    choose(tab, "search", "")
    assert len(listed(tab)) == len(FEW)


# An episode.


def test_an_episode_shows_its_turns_and_its_tree(opened, few):
    tab = opened(few)
    tab.press("j")
    tab.press("j")
    ready(tab, "back")
    turns = texts(tab, ".turn")
    assert len(turns) == 9
    assert "pivotal mistake" in turns[2]
    assert "L 4 → 6" in turns[2]
    assert "injected: wrong argument" in turns[2]
    assert "abandoned" in turns[3]
    assert "went back to [1], leaving [2] [3]" in turns[4]
    assert "abandoned" not in turns[5]
    assert tab.js("document.querySelector('.figure svg').getAttribute('aria-label')") == (
        "8 actions, 1 rollback, pivotal mistakes at 2, won."
    )
    assert "pivotal mistake" in text(tab, ".figure .legend")
    assert turn(tab) == "2"  # an episode opens where it went wrong
    assert "undefined" not in text(tab, "main")


def test_infinity_has_a_level_of_its_own(opened, few):
    tab = opened(few, address="#episode=fatal&turn=2")
    assert "∞" in text(tab, ".figure")
    assert "L 2 → ∞" in texts(tab, ".turn")[2]
    assert tab.js("document.querySelectorAll('.figure .infinite').length") == 1


def test_keys(opened, few):
    tab = opened(few)
    for key, expected in (("j", "straight"), ("j", "back"), ("j", "fatal"), ("k", "back")):
        tab.press(key)
        ready(tab, expected)
    for key, expected in (
        ("ArrowRight", "3"), ("ArrowRight", "4"), ("ArrowLeft", "3"), ("Home", "0"), ("p", "2"), ("b", "4"),
        ("End", "8"), ("ArrowRight", "8"),
    ):  # fmt: skip
        tab.press(key)
        assert turn(tab) == expected
    tab.press("/")
    assert tab.js("document.activeElement.id") == "search"
    tab.press("j")  # a letter now
    assert at(tab) == "back"
    tab.press("Escape")
    assert tab.js("[document.activeElement.id, document.getElementById('search').value]") == ["list", "j"]
    choose(tab, "search", "")
    tab.press("ArrowDown")
    ready(tab, "fatal")
    assert tab.js("document.getElementById('list').getAttribute('aria-activedescendant')") == "episode-2"
    tab.press("?")
    assert tab.js("document.getElementById('keys').open")
    tab.press("j")
    tab.press("Escape")
    assert not tab.js("document.getElementById('keys').open")
    assert at(tab) == "fatal"
    tab.press("s")
    assert text(tab, ".summary h1") == "run"
    assert tab.js("location.hash") == ""


def test_the_address_leads_to_an_episode_and_a_turn(opened, few):
    tab = opened(few, address="#episode=back&turn=5")
    assert (at(tab), turn(tab)) == ("back", "5")
    assert "[5]" in text(tab, ".turn.here")
    tab.js("location.hash = '#episode=idle&turn=1'")
    tab.until("document.querySelectorAll('.turn').length === 4")
    assert "[1]" in text(tab, ".turn.here")
    tab.js("location.hash = '#episode=no+such&turn=1'")
    tab.until("document.querySelector('.summary')")


def test_what_a_model_said_and_was_sent_can_be_unfolded(opened):
    asked = ({"role": "system", "content": "Be good."}, {"role": "user", "content": "You are in a room."})
    more = (*asked, {"role": "assistant", "content": "I look."}, {"role": "user", "content": "Nothing."})
    one = episode(3, 2, 1, id="talk")
    calls = [Call(asked, "I look.", 1.25, None, {"tokens": 7}), Call(more, "I go on.", 0.5, "no tag")]
    acts = tuple(act._replace(call=call) for act, call in zip(one.acts, calls, strict=True))
    tab = opened(report([one._replace(acts=acts)], "run"), address="#episode=talk&turn=2")
    assert "I go on." not in text(tab, ".turn.here")
    assert "no action could be read: no tag" in text(tab, ".turn.here")
    tab.press("m")
    tab.until("document.querySelector('.here details pre')?.innerText === 'I go on.'")
    tab.js("document.querySelectorAll('.here summary')[1].click()")
    tab.until("document.querySelectorAll('.here details')[1].querySelectorAll('pre').length === 4")
    assert texts(tab, ".here details:nth-of-type(2) pre") == [message["content"] for message in more]
    tab.press("ArrowLeft")  # what is unfolded stays so
    assert texts(tab, ".here pre") == ["I look.", "Be good.", "You are in a room."]
    assert "1.25 s" in text(tab, ".here summary") or "1.3 s" in text(tab, ".here summary")


@pytest.mark.parametrize(
    ("id", "kind", "options"),
    [
        ("Rollback-Sokoban-v0", "room", {}),
        ("Rollback-Sokoban-v0", "room", {"preset": "ragen"}),
        ("Rollback-Sokoban-v0", "room", {"preset": "verl-agent"}),
        ("Rollback-MineSweeper-v0", "board", {}),
    ],
)
def test_grids_are_drawn(opened, browser, id, kind, options):
    env = gym.make(id, **options)
    shown, _ = env.reset(seed=0)
    if kind == "room":
        rows = [[cell for cell in row.partition(":")[2] or row if cell.strip()] for row in shown.split("\n")]
    else:
        rows = [row.partition(": ")[2].split(" ") for row in shown.split("\n")]
    assert of_file(browser, "tiles.js", f"gridOf({json.dumps(shown)})") == {"kind": kind, "rows": rows}
    one = episode(3, 2, id="grid")._replace(observation=shown)
    tab = opened(report([one], "run"), address="#episode=grid&turn=0")
    colours = tab.js(
        "(() => { const canvas = document.querySelector('.turn canvas'), seen = new Set();"
        "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 3).join()); return seen.size; })()"
    )
    assert colours > 4
    assert text(tab, ".turn.here .seen").split("\n")[0].strip() == shown.split("\n")[0].strip()


@pytest.mark.parametrize(
    "said", ["", "###", "# # #\n# # #", "###\n##\n###", "Row 1: . .\nRow 2: . .", "a\nb\nc", 7, None]
)
def test_what_is_no_grid_is_not_drawn(browser, said):
    assert of_file(browser, "tiles.js", f"gridOf({json.dumps(said)})") is None


def lanes(browser, acts):
    plain = json.dumps([act._asdict() | {"call": None, "previous": 0, "distance": 0} for act in acts])
    return of_file(
        browser,
        "tree.js",
        f"(() => {{ const acts = {plain}, placed = tree(acts); return {{ lanes: placed.lanes,"
        "of: acts.filter((act) => act.kind === 'game').map((act) => placed.laneOf(act.index)) }; })()",
    )


@pytest.mark.parametrize(
    ("course", "expected"),
    [
        ((2, 1, 0), [0, 0, 0]),
        ((2, 3, 3, Back(1), 1), [0, 1, 1, 0]),
        ((2, 3, Back(1), 3, Back(1), 1), [0, 1, 1, 0]),  # side by side
        ((2, 3, 3, Back(2), 3, Back(0), 2), [1, 1, 2, 1, 0]),  # a branch of a branch
        ((2, Back(0)), [1]),  # nothing of it is left
        ((2, Back(7, refused=True), 1), [0, 0]),
        ((), []),
    ],
)
def test_lanes(browser, course, expected):
    found = lanes(browser, episode(3, *course).acts)
    assert found["of"] == expected
    assert found["lanes"] == max(expected, default=0) + 1


# How it looks.


def test_dark_and_light(opened, few):
    tab = opened(few, dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = tab.js(ground)
    assert dark == "rgb(18, 19, 22)"
    tab.dark(False)
    tab.until(f"{ground} !== {json.dumps(dark)}")
    tab.press("d")
    assert tab.js(ground) == dark
    tab.press("d")
    assert tab.js(ground) != dark
    tab.js("localStorage.clear()")


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(opened, dark, few):
    tab = opened(few, dark=dark)
    pairs = [(ink, ground) for ink in ("ink", "quiet", "accent", "won", "lost", "cut", "pivot", "rollback", "injected")
             for ground in ("sheet", "ground", "accent-soft")]  # fmt: skip
    pairs += [("won", "won-soft"), ("lost", "lost-soft"), ("cut", "cut-soft"), ("quiet", "raised")]
    colours = tab.js(
        "(() => { const style = getComputedStyle(document.documentElement), found = {};"
        f"for (const name of {json.dumps(sorted({name for pair in pairs for name in pair}))})"
        " found[name] = style.getPropertyValue('--' + name).trim(); return found; })()"
    )
    poor = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < 4.5} == {}


def contrast(one, other):
    """The contrast ratio of WCAG 2.1."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1024, 600), (800, 900), (390, 700)])
@pytest.mark.parametrize("address", ["", "#episode=back&turn=2"])
def test_nothing_sticks_out_of_the_window(opened, width, height, address, few):
    tab = opened(few, width=width, height=height, address=address)
    assert tab.js("document.documentElement.scrollWidth") <= width
    assert tab.js("document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth")


def test_in_a_small_window_the_list_is_a_button_away(opened, few):
    tab = opened(few, width=390, height=700)
    assert not tab.js("document.getElementById('sidebar').checkVisibility()")
    tab.js("document.getElementById('list-toggle').click()")
    assert len(listed(tab)) == len(FEW)
    tab.js("document.querySelector('#episode-2').click()")
    ready(tab, "fatal")
    assert not tab.js("document.getElementById('sidebar').checkVisibility()")


# Hostile text.


def test_hostile_text_is_shown_and_does_nothing(opened):
    tab = opened(report(hostile.episodes(), hostile.TEXTS[0]))
    assert text(tab, ".summary h1") == hostile.TEXTS[0]
    tab.press("m")
    for number, said in enumerate(hostile.TEXTS):
        tab.press("j")
        tab.until(f"document.querySelector('.episode[aria-selected=true]')?.id === 'episode-{number}'")
        tab.until(f"document.querySelector('.meta')?.innerText.includes('seed {number}')")
        for _ in range(3):
            tab.press("ArrowRight")
        if number == 0:
            tab.js("document.querySelectorAll('.here details').forEach((fold) => { fold.open = true; })")
            tab.until("document.querySelectorAll('.here pre').length === 3")
        if number < 4:
            assert text(tab, ".head h1") == said
            assert texts(tab, ".turn .seen")[0] == said
            assert said in texts(tab, ".here pre")
    assert tab.js("window.broken") is None
    assert tab.js("document.querySelectorAll('img, iframe, a, main style, main script').length") == 0
    assert tab.js("document.scripts.length") == 3  # index, one part, the page's own


def test_what_nobody_would_see_is_spelled_out(opened):
    said = "a\0b\u202ec\u2028d\ud800e\tf\U000e0041"
    tab = opened(report([episode(3, 2)._replace(observation=said)], "run"), address="#episode=e&turn=0")
    assert text(tab, ".here .seen") == "a<U+0000>b<U+202E>c\nd<U+D800>e\tf<U+E0041>"


@pytest.mark.parametrize(
    "attempt",
    [
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.setAttribute('onclick', 'window.broken = 1')",
        "document.createElement('script').text = 'window.broken = 1'",
        "document.write('<b>x</b>')",
    ],
)
def test_the_policy_refuses_what_the_page_would_never_do(opened, few, attempt):
    """The second line of defence: even if text were taken for markup, it could not run."""
    tab = opened(few)
    assert tab.js(f"(() => {{ try {{ {attempt}; }} catch (error) {{ return error.name; }} }})()") == "TypeError"
    assert tab.js("window.broken") is None
    tab.forgive()


def test_a_damaged_page_says_so(opened, few):
    cut = re.sub(r'(id="part-0">).{40}', r"\1", few)
    tab = opened(cut)
    tab.press("j")
    tab.until("document.querySelector('main [role=alert]')")
    assert "could not be drawn" in text(tab, "main")
    tab.forgive()


# Many episodes.


@pytest.fixture(scope="module")
def many():
    courses = [(6, 5, 7, Back(2), 4, 3, 2, 1, 0), (6, 7, 8, 8, 8, 8, 8, 8), (6, 5, 4, 3, 2, 1, 0)]
    courses = [[*one, *one] if number % 2 else one for number, one in enumerate(courses * 2)]
    episodes = [
        episode(7, *courses[number % 6], id=f"episode {number}", kind=f"kind {number % 5}")._replace(
            task=f"put number {number} into its place"
        )
        for number in range(MANY)
    ]
    return report(episodes, "run")


def test_many_episodes_are_there_in_less_than_two_seconds(opened, many):
    """Loaded, drawn, and an episode opened by a key; tried again where other processes were in the way."""
    times = []
    while len(times) < 5 and min(times, default=math.inf) >= 2:
        tab = opened(many)
        tab.until("performance.getEntriesByName('interactive').length")
        drawn = tab.js("performance.getEntriesByName('interactive')[0].startTime")
        asked = tab.js("performance.now()")
        tab.press("j")
        tab.until("document.querySelectorAll('.turn').length > 1")
        times.append((drawn + tab.js("performance.now()") - asked) / 1000)
    assert min(times) < 2


def test_of_many_episodes_only_those_in_sight_are_in_the_document(opened, many):
    tab = opened(many)
    assert tab.js("document.querySelectorAll('.episode').length") < 40
    tab.js("document.getElementById('list').scrollTop = 1e9")
    tab.until(f"document.getElementById('episode-{MANY - 1}')")
    assert tab.js("document.querySelectorAll('.episode').length") < 40
    tab.press("j")
    ready(tab, "episode 0")  # the list comes along
    assert tab.js("document.getElementById('list').scrollTop") == 0
    choose(tab, "search", "number 1999")
    assert text(tab, "#count").startswith("1 of 2,000 episodes")
