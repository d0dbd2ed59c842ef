"""The engines, graphs and queries that `peers_cpu.py` compares; everything here runs without gdb but `ours`."""
