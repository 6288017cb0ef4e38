import pytest

from rollback_gym.envs.webshop import views
from rollback_gym.envs.webshop.actions import mended, read
from rollback_gym.envs.webshop.goals import open_goals
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.types import START, Catalogue, Level, State
from rollback_gym.envs.webshop.views import Views
from tests.envs.webshop.shops import LongWords, goal_number, hostile, plain, plain_goals, product
from tests.laws import same

RULES = WebShopRules()
RICH = WebShopRules(observation="text_rich")
ORIGINAL = WebShopRules(compat="original")


def level(asin: str = "B000000001", *values: str) -> Level:
    goals = plain_goals()
    return goals.level(goal_number(goals, asin, *values))


def after(*actions: str, rules: WebShopRules = RULES, at: Level | None = None) -> State:
    at = at or level()
    state, _ = rules.begin(at)
    for action in actions:
        state = rules.step(at, state, action).state
    return state


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("search[Red Shoes]", ("search", "red shoes")),
        ("click[Buy Now]", ("click", "buy now")),
        ("Search[x]", ("Search", "x")),
        ("search[x] and more", ("search", "x")),
        ("search[x]]", ("search", "x]")),
        ("search[a [b] c]", ("search[a ", "b] c")),  # greedy: the name goes on to the last bracket
        ("search[]", ("", "")),
        ("search[a\nb]", ("", "")),
        ("search", ("", "")),
        ("", ("", "")),
    ],
)
def test_actions_are_read_as_the_original_reads_them(action: str, expected: tuple[str, str]) -> None:
    assert read(action) == expected
    assert mended(action, ()) == expected


@pytest.mark.parametrize("written", ["multi [2 pack]", "[a", "a]b[c", "a\nb"])
def test_whatever_is_offered_can_be_clicked_when_mended(written: str) -> None:
    assert mended(f"click[{written.upper()}]", {written}) == ("click", written)
    assert read(f"click[{written}]") != ("click", written)


def test_a_way_to_the_goal() -> None:
    at = level("B000000001", "large", "red")
    state, observation = RULES.begin(at)
    assert state == START
    assert observation == f"WebShop [SEP] Instruction: [SEP] {at.task} [SEP] Search"
    assert RULES.actions(at, state) == ("search[<your query>]",)
    expected = [
        ("search[Soft Cotton shirt]", "search_results", 0.0, False),
        ("click[b000000001]", "item_page", 0.0, False),
        ("click[features]", "item_sub_page", 0.0, False),
        ("click[< Prev]", "item_page", 0.0, False),
        ("click[large]", "item_page", 0.0, False),
        ("click[red]", "item_page", 0.0, False),
        ("click[Buy Now]", "done", 1.0, True),
    ]
    for action, kind, reward, over in expected:
        state, earned, terminated, _, won, invalid = RULES.step(at, state, action)
        assert (state.kind, earned, terminated, won, invalid) == (kind, reward, over, over, None)
    assert state.options == (("color", "red"), ("size", "large"))


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (("search[shirt]",), State("search_results", "shirt", 1, None, "", (), (), None)),
        (("search[shirt]", "click[next >]"), State("search_results", "shirt", 2, None, "", (), (), None)),
        (
            ("search[shirt]", "click[next >]", "click[< prev]"),
            State("search_results", "shirt", 1, None, "", (), (), None),
        ),
        (("search[shirt]", "click[back to search]"), START),
        (("search[shirt]", "search[dress]"), State("search_results", "dress", 1, None, "", (), (), None)),
    ],
)
def test_paging(actions: tuple[str, ...], expected: State) -> None:
    assert after(*actions) == expected


ITEM = ("search[shirt]", "click[b000000001]")


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (("click[red]", "click[large]", "click[dark navy]"), (("color", "dark navy"), ("size", "large"))),
        (("click[red]", "click[red]"), (("color", "red"),)),
        (("click[red]", "click[description]", "click[< prev]"), (("color", "red"),)),
        (("click[red]", "click[< prev]"), ()),
        (("click[red]", "search[dress]"), ()),
        (("click[red]", "click[back to search]"), ()),
    ],
)
def test_what_is_chosen_stays_until_the_product_is_left(
    actions: tuple[str, ...], expected: tuple[tuple[str, str], ...]
) -> None:
    assert after(*ITEM, *actions).options == expected


def test_what_was_opened_is_kept_until_back_to_search() -> None:
    state = after(*ITEM, "search[dress]", "click[b000000002]")
    assert state.seen == ("B000000001", "B000000002")
    assert after(*ITEM, "search[dress]", "click[back to search]").seen == ()


@pytest.mark.parametrize(
    "action",
    ["", "hello", "click[search]", "click[buy now]", "click[nothing]", "search[]", "search[<a> x]", "search[<c>]"],
)
@pytest.mark.parametrize("rules", [RULES, ORIGINAL])
def test_what_cannot_be_done_changes_nothing(rules: WebShopRules, action: str) -> None:
    at = level()
    state, observation = rules.begin(at)
    transition = rules.step(at, state, action)
    assert transition.state is state
    assert transition.feedback == observation
    assert (transition.reward, transition.terminated, transition.won) == (0.0, False, False)
    assert transition.invalid


def test_an_action_must_be_text() -> None:
    with pytest.raises(TypeError):
        RULES.step(level(), START, 3)  # type: ignore[arg-type]


def test_search_is_understood_everywhere_and_pages_have_no_end() -> None:
    assert after(*ITEM, "click[features]", "search[dress]").kind == "search_results"
    state = after("search[dress]", *["click[next >]"] * 30)
    assert state.page == 31
    assert "Page 31 (Total results: 2)" in RULES.describe(level(), state)


def test_a_search_for_a_pages_name_leads_astray_as_in_the_original() -> None:
    state = after("search[search_results shirt]", "click[b000000001]", "click[< prev]")
    assert (state.kind, state.page) == ("search_results", 0)
    state = after("search[item_page shirt]", "click[b000000001]", "click[features]", "click[< prev]")
    assert (state.kind, state.page) == ("search_results", 1)


def test_a_link_leads_to_what_is_written_on_it() -> None:
    sold = (
        product("b1", "Cotton Shirt", instruction="a shirt", instruction_attributes=("soft",)),
        product("B1", "Brass Lamp"),
    )
    at = open_goals(Catalogue(sold, LongWords())).level(0)
    for rules, asin in ((RULES, "b1"), (WebShopRules(compat="original"), "B1")):
        state = rules.step(at, START, "search[cotton]").state
        assert rules.available(at, state)["clickables"][-1] == "b1"
        assert rules.step(at, state, "click[b1]").state.asin == asin


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_BYTES", 5000)
    catalogue = Catalogue(plain().products, LongWords())
    at, rules = open_goals(catalogue).level(0), WebShopRules(observation="text_rich")
    pages = Views(catalogue, rules.dialect)
    catalogue.memo[rules.dialect] = pages
    for number in range(300):
        query = f"shirt {number} {'x' * 500}"
        state = rules.step(at, START, f"search[{query}]").state
        state = rules.step(at, state, "click[b000000001]").state
        after = rules.step(at, state, "click[red]")
        assert after.feedback == RICH.step(level(), state, "click[red]").feedback
        assert sum(map(len, pages._hits)) <= pages._hits.size <= 5000
        assert sum(len(key[0]) for key in pages._views) <= pages._views.size <= 5000
    assert sum(map(len, catalogue.memo["hits"])) > 500


def test_exact_searches() -> None:
    products = plain_goals().shop.catalogue.products
    text = RULES.describe(level(), after("search[<q> women's shirts]"))
    assert "Total results: 3" in text
    assert [p.asin in text for p in products] == [True, True, True, False]
    assert "Total results: 4" in RULES.describe(level(), after("search[<c> fashion]"))
    assert after("search[<r>]") == START  # fifty cannot be drawn from four


def test_random_search_is_the_same_every_time() -> None:

    at = open_goals(hostile(1)).level(0)
    first = RULES.step(at, START, "search[<r>]")
    assert "Total results: 50" in first.feedback
    assert first == RULES.step(at, START, "search[<r>]")


class TestAfterThePurchase:
    def test_it_is_over(self) -> None:
        at = level()
        state = after(*ITEM, "click[buy now]")
        transition = RULES.step(at, state, "search[dress]")
        assert transition.state is state
        assert transition.terminated
        assert transition.invalid
        assert RULES.actions(at, state) == ()

    def test_the_original_goes_on(self) -> None:
        at = level()
        state = after(*ITEM, "click[buy now]", rules=ORIGINAL)
        assert ORIGINAL.available(at, state) == {"has_search_bar": False, "clickables": []}
        transition = ORIGINAL.step(at, state, "search[dress]")
        assert (transition.state.kind, transition.terminated) == ("search_results", False)

    def test_verl_agent_shows_the_next_episodes_actions(self) -> None:
        rules = WebShopRules(compat="verl-agent")
        state = after(*ITEM, "click[buy now]", rules=rules)
        assert rules.available(level(), state) == {"has_search_bar": True, "clickables": ["search"]}

    @pytest.mark.parametrize(
        ("choices", "reward"), [((), 0.5), (("click[large]",), 0.75), (("click[large]", "click[red]"), 1.0)]
    )
    def test_what_is_missing_costs(self, choices: tuple[str, ...], reward: float) -> None:
        at = level("B000000001", "large", "red")
        transition = RULES.step(at, after(*ITEM, *choices, at=at), "click[buy now]")
        assert transition.reward == reward
        assert transition.won is (reward == 1.0)
        assert RULES.purchase(at, transition.state).reward == reward


def test_brackets_can_be_chosen_unless_the_original_is_asked_for() -> None:
    at = level("B000000003")
    way = ("search[silk dress]", "click[b000000003]", "click[multi [2 pack]]")
    assert after(*way, at=at).options == (("style", "multi [2 pack]"),)
    assert after(*way, at=at, rules=ORIGINAL).options == ()
    assert "click[multi [2 pack]]" in RULES.actions(at, after(*way[:2], at=at))


def test_every_admissible_action_is_carried_out() -> None:

    at = open_goals(hostile(3)).level(0)
    for found in range(60):
        asin = at.shop.catalogue.products[found].asin
        state = State("item_page", "soft", 1, asin, "", (), (asin,), None)
        for action in RULES.actions(at, state):
            assert RULES.step(at, state, action).invalid is None, action


def test_an_option_named_like_a_button_is_the_button() -> None:
    sold = product("B1", options=(("x", ("description", "next >", "buy now")),))
    from rollback_gym.envs.webshop.goals import Goals
    from rollback_gym.envs.webshop.types import Catalogue, Shop
    from tests.envs.webshop.shops import LongWords

    asked = sold._replace(instruction="a shirt", instruction_attributes=("soft",))
    at = Goals(Shop(Catalogue((asked,), LongWords()))).level(0)
    state = State("item_page", "soft", 1, "B1", "", (), ("B1",), None)
    assert RULES.step(at, state, "click[description]").state.kind == "item_sub_page"
    assert RULES.step(at, state, "click[next >]").state.options == (("x", "next >"),)
    assert RULES.step(at, state, "click[buy now]").terminated
    assert RULES.available(at, state)["clickables"] == [
        *("back to search", "< prev", "description", "features", "reviews", "buy now", "next >")
    ]


class TestEncoding:
    @pytest.mark.parametrize(
        "actions", [(), ("search[x]",), ITEM, (*ITEM, "click[red]", "click[features]"), (*ITEM, "click[buy now]")]
    )
    def test_round_trip(self, actions: tuple[str, ...]) -> None:
        at, state = level(), after(*actions)
        assert RULES.decode(at, RULES.encode(at, state)) == state
        assert same(RULES.encode(at, state), tuple(state))

    @pytest.mark.parametrize(
        "wrong",
        [
            None,
            (),
            ("search", None, 0, None, "", (), (), None, None),
            ("nowhere", None, 0, None, "", (), (), None),
            ("search", "x", 0, None, "", (), (), None),
            ("search_results", None, 1, None, "", (), (), None),
            ("search_results", "", 1, None, "", (), (), None),
            ("search_results", "x", -1, None, "", (), (), None),
            ("search_results", "x", True, None, "", (), (), None),
            ("search_results", "x", 1, "B000000001", "", (), ("B000000001",), None),
            ("item_page", "x", 1, "B000000001", "", (), (), None),
            ("item_page", "x", 0, "B000000001", "", (), ("B000000001",), None),
            ("item_sub_page", "x", 0, "B000000001", "features", (), ("B000000001",), None),
            ("item_page", "x", 1, "B000000009", "", (), ("B000000009",), None),
            ("item_page", "x", 1, "B000000001", "", (("color", "pink"),), ("B000000001",), None),
            ("item_page", "x", 1, "B000000001", "", (("size", "small"), ("color", "red")), ("B000000001",), None),
            ("item_page", "x", 1, "B000000001", "Features", (), ("B000000001",), None),
            ("item_page", "x", 1, "B000000001", "", [], ("B000000001",), None),
            ("item_page", "x", 1, "B000000001", "", ((),), ("B000000001",), None),
            ("item_sub_page", "x", 1, "B000000001", "features", (), ("B000000001",), None),
            ("item_page", "x", 1, "B000000001", "", (), ("B000000002", "B000000001"), None),
            ("done", "x", 0, "B000000001", "", (), ("B000000001",), 0.5),
            ("done", "x", 1, "B000000001", "", (), ("B000000001",), 0.9),
            ("done", "x", 1, "B000000001", "", (), ("B000000001",), None),
            (["search"], None, 0, None, "", (), (), None),
            ("search", None, 0, None, "", (), (), 0.5),
            ("search_results", "x", 1, None, "", (), (), 1.0),
            ("search_results", "Shirt", 1, None, "", (), (), None),
            ("search_results", "a [b]", 1, None, "", (), (), None),
            ("search_results", "a\nb", 1, None, "", (), (), None),
            ("search_results", "<a> x", 1, None, "", (), (), None),
            ("search_results", "<c>", 1, None, "", (), (), None),
            ("search_results", "<r>", 1, None, "", (), (), None),
        ],
    )
    def test_anything_else_is_refused(self, wrong: object) -> None:
        with pytest.raises(ValueError, match=r"not a state of this WebShop level|<[acr]> (is|needs|shows)"):
            RULES.decode(level(), wrong)

    @pytest.mark.parametrize("reward", [-0.1, 1.5, float("nan"), float("inf"), 1])
    def test_a_purchase_is_worth_something_from_0_to_1(self, reward: float) -> None:
        original = WebShopRules(compat="original")
        assert original.decode(level(), ("search", None, 0, None, "", (), (), 0.5)).reward == 0.5
        with pytest.raises(ValueError, match="from 0 to 1"):
            original.decode(level(), ("search", None, 0, None, "", (), (), reward))


@pytest.mark.parametrize("options", [{"observation": "html"}, {"compat": "verl"}])
def test_unknown_variants_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="got"):
        WebShopRules(**options)  # type: ignore[arg-type]
