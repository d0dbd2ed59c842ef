"""What everything stands on, the storage too: limits of a run, locks and forks, machine code, values."""
