"""The floor of the learner, the only one that may import torch. It uses all the others, and none uses it."""
