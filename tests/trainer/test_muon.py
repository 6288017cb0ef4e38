"""Muon and AdamW are one optimizer: the same steps as torch's two, by a schedule, and from a saved state."""

import copy

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")

import torch
from torch import nn
from torch.optim import AdamW, Muon
from torch.optim.lr_scheduler import LambdaLR

from rollback_gym.trainer.muon import MATRICES, MuonAdamW


def model():
    torch.manual_seed(0)
    embedding = nn.Embedding(7, 6)
    made = nn.ModuleDict({"embed": embedding, "one": nn.Linear(6, 6), "norm": nn.LayerNorm(6), "head": nn.Linear(6, 7)})
    made["head"].weight = embedding.weight
    return made


def learn(made, stepping, steps, seed=0):
    chance = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        ids = torch.randint(0, 7, (5,), generator=chance)
        loss = nn.functional.cross_entropy(made["head"](made["norm"](made["one"](made["embed"](ids)))), (ids + 1) % 7)
        loss.backward()
        stepping()


def test_it_steps_as_the_two_do():
    ours, theirs = model(), model()
    both = MuonAdamW(ours, 1e-2)
    schedule = LambdaLR(both, lambda step: 1 / (1 + step))
    assert [group["lr"] for group in both.param_groups] == [MATRICES * 1e-2, 1e-2]
    muon = Muon([theirs["one"].weight], lr=MATRICES * 1e-2, weight_decay=0.0)
    rest = [given for name, given in theirs.named_parameters() if name != "one.weight"]
    adam = AdamW(rest, lr=1e-2, weight_decay=0.0)
    schedules = [LambdaLR(of, lambda step: 1 / (1 + step)) for of in (muon, adam)]

    def ours_step():
        both.step()
        both.zero_grad()
        schedule.step()

    def theirs_step():
        for of in (muon, adam):
            of.step()
            of.zero_grad()
        for of in schedules:
            of.step()

    learn(ours, ours_step, 5)
    learn(theirs, theirs_step, 5)
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)


def test_it_goes_on_from_a_saved_state():
    whole, begun = model(), model()
    optimizer = MuonAdamW(whole, 1e-2)
    learn(whole, lambda: (optimizer.step(), optimizer.zero_grad()), 3)
    begun.load_state_dict(copy.deepcopy(whole.state_dict()))
    again = MuonAdamW(begun, 1e-2)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert again.param_groups[0] is again._parts[0].param_groups[0]
    for made, stepping in ((whole, optimizer), (begun, again)):
        learn(made, lambda of=stepping: (of.step(), of.zero_grad()), 3, seed=1)
    for one, other in zip(whole.parameters(), begun.parameters(), strict=True):
        assert torch.equal(one, other)
