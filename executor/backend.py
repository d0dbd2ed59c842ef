"""The backends behind one record: what is counted or found of a prepared stage, by the CPU or by GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.records import dataclass, quick
from gdb.storage.graph.adjacency import I64, U32

from .nest.prepare import Prepared
from .plan.embeddings import Deliver, Wanted
from .work.scheduler import Budget, Watch


@quick
@dataclass(frozen=True, slots=True)
class Backend:
    """Where stages run. Each backend is imported when it first runs something.

    ordinals : of the GPUs; None for the CPU. threads : 0 for all cores. gpu_memory : bytes of each GPU, None for a
    share of what is free. The errors are those of `gdb.executor.cpu.launch` and `gdb.executor.gpu.launch`.
    """

    ordinals: tuple[int, ...] | None
    threads: int
    gpu_memory: int | None

    def counts(self, stages: Sequence[Prepared], watch: Watch, budget: Budget) -> list[int]:
        """Numbers of embeddings that the nests count, without the plans' multiplicities."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return [cpu.count(prepared, watch, budget, self.threads) for prepared in stages]
        from .gpu import launch as gpu

        return gpu.counts(stages, watch, budget, self.ordinals, self.gpu_memory)

    def tallies(self, prepared: Prepared, watch: Watch, budget: Budget) -> I64:
        """The count for each data vertex that the first query vertex is bound to, i64[vids]."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return cpu.tallies(prepared, watch, budget, self.threads)
        from .gpu import launch as gpu

        return gpu.tallies(prepared, watch, budget, self.ordinals, self.gpu_memory)

    def distinct(self, prepared: Prepared, watch: Watch, budget: Budget, vertex: int) -> U32:
        """The data vertices that a query vertex is bound to in any embedding, each once, u32[n]."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return cpu.distinct(prepared, watch, budget, vertex, self.threads)
        from .gpu import launch as gpu

        return gpu.distinct(prepared, watch, budget, vertex, self.ordinals, self.gpu_memory)

    def count_distinct(self, prepared: Prepared, watch: Watch, budget: Budget, vertex: int) -> int:
        """How many `distinct` finds."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return cpu.count_distinct(prepared, watch, budget, vertex, self.threads)
        return len(self.distinct(prepared, watch, budget, vertex))

    def deliver_rows(
        self, prepared: Prepared, watch: Watch, budget: Budget, wanted: Wanted, deliver: Deliver
    ) -> None:
        """Hand the embeddings that the nest finds, without twins, to `deliver`, a buffer at a time, from several
        threads. `deliver` counts them in `watch`."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            cpu.deliver_rows(prepared, watch, budget, wanted, deliver, self.threads)
            return
        from .gpu import launch as gpu

        gpu.deliver_rows(
            *(prepared, watch, budget, wanted, deliver, self.ordinals, self.threads),
            gpu_memory=self.gpu_memory,
        )
