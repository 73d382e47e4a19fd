"""Programs made of an oracle: other orders of it, harmless variations, mutants, and a panel from weak to strong."""
