"""One process of a training by several: writes what its agent knows at the end. Arguments: model, folder."""

import json
import os
import sys
from pathlib import Path

import torch

from rollback_gym.trainer import retro_runs
from tests.trainer.test_retro_runs import small

if __name__ == "__main__":
    base, out = Path(sys.argv[1]), Path(sys.argv[2])
    made = []
    agent_of = retro_runs.agent_of

    def remembered(*arguments):
        made.append(agent_of(*arguments))
        return made[-1]

    retro_runs.agent_of = remembered
    retro_runs.train(small(base, **{"looking.source": "oracle"}), out)
    (out / f"state-{os.environ['RANK']}.json").write_text(json.dumps(made[0].state(), sort_keys=True))
    torch.distributed.destroy_process_group()
