"""The base layer, used by all others and by the storage: limits of a run, locks and forks, machine code, values."""
