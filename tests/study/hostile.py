"""Episodes that say everything that has ever broken out of a page, in every field that holds text."""

from rollback_gym.play.records import Act, Call, Episode, Made

TEXTS = (
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 1'>",
    "<svg onload=window.broken=1><style>*{display:none}</style>",
    "<!--<script> --> ]]> <a href='javascript:window.broken=1'>here</a>",
    "\"'`${window.broken = 1} $data {{broken}} &lt;b&gt; &#60;b&#62;",
    "line\u2028separators\u2029, NUL \0, bell \a, half a pair \ud800, turned \u202egnihtemos\u202c, \u2067rtl\u2069",
    "__proto__",
    "constructor",
    "שלום عليكم",
    "x" * 3000,
    "\n" * 50,
    "",
)


def hostile(text: str, number: int) -> Episode:
    """An episode that says `text` wherever it can."""
    call = Call(
        ({"role": text, "content": text}, {"role": "user", "content": text}), text, 0.5, text, {text: text, "tokens": 3}
    )
    acts = (
        Act(1, "game", 0, text, text, 0.0, None, False, None, "", (), 3.0, 4.0, "detour", True, text, call, 0.0),
        Act(
            2,
            "game",
            1,
            {text: [text]},
            text,
            1.5,
            text,
            False,
            None,
            "",
            (),
            4.0,
            4.0,
            "waste",
            False,
            None,
            call,
            0.0,
        ),
        Act(3, "rollback", 2, text, text, -1.5, None, False, 0, text, (1, 2), 4.0, 3.0, None, False, None, call, 0.0),
        Act(4, "rollback", 0, text, text, 0.0, text, False, None, text, (), 3.0, 3.0, None, False, None, call, 0.0),
    )
    return Episode(
        f"{text}#{number}", Made(text, {text: text}), text, number, text, text, {"name": text, text: text}, text, 3.0,
        acts, "truncated", 0.0, 4, (1,), 3,
    )  # fmt: skip


def episodes() -> list[Episode]:
    """One for each text."""
    return [hostile(text, number) for number, text in enumerate(TEXTS)]
