"""The command line, on processors that share a model as GPUs would: accelerate shares only among accelerators.

    accelerate launch --config_file fsdp.yaml tests/learn/sharded.py learn sft ...

Only the name of the kind of devices is another; what is shared out, gathered and kept is done by FSDP2 itself. The head
is computed in pieces, as it is where a vocabulary is large.
"""

import sys

import torch
from accelerate import PartialState
from accelerate.utils import DistributedType

from coworkenv.engine.cli import main
from coworkenv.learn import batches
from coworkenv.learn.together import PATIENCE

torch.set_num_threads(1)
batches.CHUNK = 258 * 16
PartialState(cpu=True, timeout=PATIENCE)._shared_state["distributed_type"] = DistributedType.MULTI_GPU
sys.exit(main(sys.argv[1:]))
