"""The plan and what it runs on and yields: phases, the source of a graph, embeddings tables, twins.

The planner makes plans; all executors read them. The modules import no other room of the executor.
"""
