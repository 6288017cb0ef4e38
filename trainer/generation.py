"""Answers from a model of transformers in this process.

A sampler of its own instead of `model.generate`: an agent's texts grow turn by turn, so what was computed for a slot's
last text is kept and only what is new is read; and small models spend more time in `generate` than in themselves.
"""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

from rollback_gym.trainer.generator import Ask, Sample
from rollback_gym.trainer.rows import Ids


class TransformersGenerator:
    """Samples from a model.

    Args:
        model: A causal language model of transformers, not sharded.
        stops: The tokens that end an answer.
        temperature: 0 takes the likeliest token each time.
        top_p: Sample only from the likeliest tokens that have this probability together.
        autocast: What the model is run in, where it is trained in less than full precision.

    Raises:
        ValueError: if temperature or top_p are none.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        stops: frozenset[int],
        *,
        temperature: float = 1.0,
        top_p: float = 1.0,
        autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        if temperature < 0 or not 0 < top_p <= 1:
            raise ValueError(
                f"temperature must be at least 0, and top_p above 0 and at most 1; got {temperature} and {top_p}."
            )
        self.model, self.stops = model, stops
        self._temperature, self._top_p, self._autocast = temperature, top_p, autocast
        self._reader: _Reader = _Slots(model) if _keeps_slots(model) else _Anew(model)

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        """See `Generator.generate`."""
        if not asks:
            return []
        training = self.model.training
        self.model.eval()
        try:
            with torch.no_grad(), self._autocast():
                return self._generated(asks, seed)
        finally:
            self.model.train(training)

    def goes_on(self, wanted: bool) -> bool:
        """See `Generator.goes_on`: every process is on its own."""
        return wanted

    def _generated(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        device = self.model.device
        chance = torch.Generator(device).manual_seed(seed)
        stops = torch.tensor(sorted(self.stops), device=device)
        most = torch.tensor([ask.most for ask in asks], device=device)
        self._reader.begin(asks, int(most.max()))
        token = torch.tensor([ask.ids[-1] for ask in asks], device=device)  # (B,)
        open_ = torch.ones(len(asks), dtype=torch.bool, device=device)
        tokens, logprobs, lengths = [], [], torch.zeros_like(most)
        while bool(open_.any()):
            token, logprob = self._sampled(self._reader.read(token), chance)
            tokens.append(token)
            logprobs.append(logprob)
            lengths += open_
            open_ = open_ & ~torch.isin(token, stops) & (lengths < most)
        # One transfer from the device, whatever the number of tokens.
        said = zip(torch.stack(tokens, 1).tolist(), torch.stack(logprobs, 1).tolist(), lengths.tolist(), strict=True)
        samples = [Sample(tuple(ids[:n]), tuple(given[:n]), ids[n - 1] in self.stops) for ids, given, n in said]
        self._reader.end([sample.ids for sample in samples])
        return samples

    def _sampled(self, logits: Tensor, chance: torch.Generator) -> tuple[Tensor, Tensor]:
        """(B, V) -> the next tokens (B,), and the log-probs of them (B,)."""
        given = torch.log_softmax(logits.float() / (self._temperature or 1.0), -1)
        if self._temperature == 0:
            token = given.argmax(-1)
        else:
            likely = given if self._top_p == 1 else _nucleus(given, self._top_p)
            token = torch.multinomial(likely.exp(), 1, generator=chance).squeeze(1)
        return token, given.gather(1, token[:, None]).squeeze(1)


def _nucleus(logprobs: Tensor, top_p: float) -> Tensor:
    """-inf but for the likeliest tokens that have `top_p` together; (B, V)."""
    ordered, order = logprobs.sort(-1, descending=True)
    before = ordered.exp().cumsum(-1) - ordered.exp()
    return logprobs.masked_fill((before >= top_p).scatter(1, order, before >= top_p), -torch.inf)


# --- What reads the texts -------------------------------------------------------------------------------------------


class _Reader(Protocol):
    """A batch of texts on the way through the model."""

    def begin(self, asks: Sequence[Ask], most: int) -> None:
        """Read all texts but for their last tokens; `most` tokens may follow at most."""

    def read(self, token: Tensor) -> Tensor:
        """Read one more token of each text, (B,), and return the logits (B, V) of what follows it."""

    def end(self, answers: Sequence[Ids]) -> None:
        """No more is read; the texts went on with `answers`."""


class _Anew:
    """Reads whole texts each time, padded on the left: right for any causal model with a cache."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model, self._cache_name = model, _cache_name(model)

    def begin(self, asks: Sequence[Ask], most: int) -> None:
        """See `_Reader.begin`."""
        device = self._model.device
        longest = max(len(ask.ids) for ask in asks) - 1
        rows = [[0] * (longest + 1 - len(ask.ids)) + list(ask.ids[:-1]) for ask in asks]
        masks = [[0] * (longest + 1 - len(ask.ids)) + [1] * (len(ask.ids) - 1) for ask in asks]
        self._mask = torch.tensor(masks, dtype=torch.long, device=device).reshape(len(asks), longest)
        self._places = torch.tensor([len(ask.ids) - 1 for ask in asks], device=device)
        self._cache = DynamicCache(config=self._model.config)
        if longest:
            places = (self._mask.cumsum(-1) - 1).clamp(min=0)
            self._forward(torch.tensor(rows, device=device), places)

    def read(self, token: Tensor) -> Tensor:
        """See `_Reader.read`."""
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        logits = self._forward(token[:, None], self._places[:, None])
        self._places = self._places + 1
        return logits

    def end(self, answers: Sequence[Ids]) -> None:
        """See `_Reader.end`."""
        del self._cache

    def _forward(self, ids: Tensor, places: Tensor) -> Tensor:
        kept = {self._cache_name: self._cache}
        return _logits(self._model, ids, self._mask, places, kept)


class _Slots:
    """Keeps what was computed for each slot, and reads what is new. For models whose layers all attend to all tokens.

    A row of the cache belongs to a slot. Its tokens stand at the left; what is to the right of them is no matter,
    since nothing attends to it, and it is written over later.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model, self._cache_name = model, _cache_name(model)
        self._forget()

    def _forget(self) -> None:
        self._cache = _SlotCache(self._model.config.get_text_config().num_hidden_layers)
        self._slots: list[int] = []
        self._texts: list[Ids] = []
        self._weights = _version(self._model)

    def begin(self, asks: Sequence[Ask], most: int) -> None:
        """See `_Reader.begin`."""
        if self._weights != _version(self._model) or len({ask.slot for ask in asks}) < len(asks):
            self._forget()  # keys and values are of other weights, or of nobody's text
        kept = {slot: (row, text) for row, (slot, text) in enumerate(zip(self._slots, self._texts, strict=True))}
        rows, known = [], []
        for ask in asks:
            row, text = kept.get(ask.slot, (0, ()))
            rows.append(row)
            known.append(min(_common(text, ask.ids), len(ask.ids) - 1))
        device = self._model.device
        longest = max(len(ask.ids) for ask in asks) + most
        self._cache.take(rows, longest, device)
        self._slots = [ask.slot for ask in asks]
        self._asked = [ask.ids for ask in asks]
        width = max(len(ask.ids) - 1 - begin for ask, begin in zip(asks, known, strict=True))
        self._lengths = torch.tensor(known, device=device)
        if width:
            new = [ask.ids[begin:-1] for ask, begin in zip(asks, known, strict=True)]
            ids = torch.tensor([[*part, *[0] * (width - len(part))] for part in new], device=device)
            self._forward(ids)
        self._lengths = torch.tensor([len(ask.ids) - 1 for ask in asks], device=device)

    def read(self, token: Tensor) -> Tensor:
        """See `_Reader.read`."""
        logits = self._forward(token[:, None])
        self._lengths = self._lengths + 1
        return logits

    def end(self, answers: Sequence[Ids]) -> None:
        """See `_Reader.end`. The last token of an answer was sampled, but not read."""
        self._texts = [(*asked, *answer[:-1]) for asked, answer in zip(self._asked, answers, strict=True)]

    def _forward(self, ids: Tensor) -> Tensor:
        width = ids.shape[1]
        places = self._lengths[:, None] + torch.arange(width, device=ids.device)  # (B, W)
        places = places.clamp(max=self._cache.room - 1)  # where one text is long and another all new
        end = int(places.max()) + 1
        self._cache.places, self._cache.end = places, end
        mask = (torch.arange(end, device=ids.device) <= places[..., None])[:, None]  # (B, 1, W, end)
        if ids.device.type == "cpu" and not torch.is_autocast_enabled("cpu"):
            # Else every layer makes this of it.
            mask = torch.zeros(mask.shape, dtype=self._model.dtype).masked_fill_(~mask, -torch.inf)
        kept = {self._cache_name: self._cache}
        return _logits(self._model, ids, mask, places, kept)


class _SlotLayer(CacheLayerMixin):  # type: ignore[misc, unused-ignore]
    """Keys and values of one layer, (rows, heads, room, size)."""

    def __init__(self, cache: "_SlotCache") -> None:
        super().__init__()
        self._cache = cache

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Make room for states like these."""
        rows, heads, _, size = key_states.shape
        self.keys = key_states.new_zeros(rows, heads, self._cache.room, size)
        self.values = value_states.new_zeros(rows, heads, self._cache.room, value_states.shape[-1])
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Put states (B, heads, W, size) where they belong, and return all up to the longest text's end."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        places, end = self._cache.places, self._cache.end
        rows = torch.arange(places.shape[0], device=places.device)[:, None]
        assert self.keys is not None
        assert self.values is not None
        self.keys[rows, :, places] = key_states.transpose(1, 2)
        self.values[rows, :, places] = value_states.transpose(1, 2)
        return self.keys[:, :, :end], self.values[:, :, :end]

    def take(self, rows: Tensor, room: int) -> None:
        """Go on with these rows, in this order, and with room for so many tokens."""
        if self.is_initialized:
            self.keys = _resized(self.keys, rows, room)
            self.values = _resized(self.values, rows, room)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """See `CacheLayerMixin`."""
        return self._cache.end, 0

    def get_seq_length(self) -> int:
        """See `CacheLayerMixin`."""
        return self._cache.end

    def get_max_length(self) -> int:
        """See `CacheLayerMixin`."""
        return -1


class _SlotCache(Cache):  # type: ignore[misc, unused-ignore]
    """The layers, and where the states that come next belong."""

    places: Tensor
    end: int = 0
    room: int = 0

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[_SlotLayer(self) for _ in range(layers)])

    def take(self, rows: Sequence[int], room: int, device: torch.device) -> None:
        """Go on with these rows, in this order, and with room for so many tokens."""
        if room > self.room:
            self.room = -(-room // _BLOCK) * _BLOCK
        for layer in self.layers:
            assert isinstance(layer, _SlotLayer)
            layer.take(torch.tensor(rows, device=device), self.room)


_BLOCK = 256
"""Tokens by which a cache grows."""


def _resized(states: Tensor | None, rows: Tensor, room: int) -> Tensor:
    assert states is not None
    same = len(rows) == len(states) and bool((rows == torch.arange(len(rows), device=rows.device)).all())
    kept = states if same else states[rows]
    return kept if room <= kept.shape[2] else torch.nn.functional.pad(kept, (0, 0, 0, room - kept.shape[2]))


def _logits(model: PreTrainedModel, ids: Tensor, mask: Tensor, places: Tensor, kept: dict[str, Any]) -> Tensor:
    """The logits (B, V) after the last of `ids` (B, W)."""
    output = model(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1, **kept)
    logits: Tensor = output.logits[:, -1]
    return logits


def _common(one: Ids, other: Ids) -> int:
    """How many tokens two texts begin with alike."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    return next(place for place in range(size) if one[place] != other[place])


def _keeps_slots(model: PreTrainedModel) -> bool:
    """Whether every layer attends to every earlier token, by an attention that takes any mask."""
    config = model.config.get_text_config()
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    windowed = getattr(config, "sliding_window", None) is not None and getattr(config, "use_sliding_window", True)
    return layers == {"full_attention"} and not windowed and config._attn_implementation == "sdpa"


def _cache_name(model: PreTrainedModel) -> str:
    """What a model calls its cache: transformers 5.2x renamed it."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model  # inside of adapters
    names = inspect.signature(type(base).forward).parameters
    return "cache" if "cache" in names else "past_key_values"


def _version(model: PreTrainedModel) -> int:
    """Changes whenever weights are written, as an optimizer does."""
    return sum(parameter._version for parameter in model.parameters())
