// What Python calls: each kernel of nest.cu over a grid.
extern "C" int emulate_run_nest(const i64* table, int words, i64 fresh, i64 steps, i64 duration, int blocks, int shared, int down) {
    struct Arguments {
        JobTable table;
        i64 fresh, steps, duration;
    };
    Arguments all = {{}, fresh, steps, duration};
    memcpy(all.table.numbers, table, 8 * words);
    downwards = down;
    const auto run = [](void* given) {
        const Arguments& a = *(Arguments*)given;
        run_nest(a.table, a.fresh, a.steps, a.duration);
    };
    return run_grid(blocks, BLOCK_THREADS, shared, {run, &all});
}

struct Views {
    const i64 *view, *other;
    i64 rows;
    void* out;
};

extern "C" int emulate_fill_split(const i64* view, i64 rows, i64* split) {
    Views all = {view, nullptr, rows, split};
    const auto run = [](void* given) {
        const Views& a = *(Views*)given;
        fill_split(a.view, a.rows, (i64*)a.out);
    };
    return run_grid(1, BLOCK_THREADS, 0, {run, &all});
}

#ifdef COLD
struct Units {
    const i64 *view, *first, *cut;
    const u32 *roots, *unit_roots;
    i64 units;
    u64* masks;
};

extern "C" int emulate_mark_passes(const i64* view, const u32* roots, const u32* unit_roots, const i64* first, i64 units, const i64* cut,
                                   u64* masks) {
    Units all = {view, first, cut, roots, unit_roots, units, masks};
    const auto run = [](void* given) {
        const Units& a = *(Units*)given;
        mark_passes(a.view, a.roots, a.unit_roots, a.first, a.units, a.cut, a.masks);
    };
    return run_grid(1, BLOCK_THREADS, 0, {run, &all});
}
#endif

#ifndef COLD
extern "C" int emulate_fill_matrices(const i64* view, const i64* other, i64 rows, u32* matrices) {
    Views all = {view, other, rows, matrices};
    const auto run = [](void* given) {
        const Views& a = *(Views*)given;
        fill_matrices(a.view, a.other, a.rows, (u32*)a.out);
    };
    return run_grid(1, BLOCK_THREADS, 0, {run, &all});
}
#endif

extern "C" int emulate_tell_counters(const u64* headers, i64 passes, u64* told) {
    Views all = {(const i64*)headers, nullptr, passes, told};
    const auto run = [](void* given) {
        const Views& a = *(Views*)given;
        tell_counters((const u64*)a.view, a.rows, (u64*)a.out);
    };
    return run_grid(1, 32, 0, {run, &all});
}

// Each lane has a number; every lane gets the sum of all.
extern "C" int emulate_warp_sum(const i64* numbers, i64* sums) {
    Views all = {numbers, nullptr, 0, sums};
    const auto run = [](void* given) {
        const Views& a = *(Views*)given;
        ((i64*)a.out)[lane()] = warp_sum(a.view[lane()]);
    };
    return run_grid(1, 32, 0, {run, &all});
}

#ifndef SPECIAL
struct Lists {
    const i64* view;
    const u32* roots;
    i64 count, below, part;
    i64* first;
    i64* totals;
    u32* units;
};

extern "C" int emulate_count_units(const i64* view, const u32* roots, i64 count, i64 below, i64 part, i64* first, i64* totals) {
    Lists all = {view, roots, count, below, part, first, totals, nullptr};
    const auto run = [](void* given) {
        const Lists& a = *(Lists*)given;
        count_units(a.view, a.roots, a.count, a.below, a.part, a.first, a.totals);
    };
    return run_grid(2, BLOCK_THREADS, 0, {run, &all});
}

extern "C" int emulate_fill_units(i64* first, i64 count, i64* before, u32* units) {
    Lists all = {nullptr, nullptr, count, 0, 0, first, before, units};
    const auto run = [](void* given) {
        const Lists& a = *(Lists*)given;
        fill_units(a.first, a.count, a.totals, a.units);
    };
    return run_grid(2, BLOCK_THREADS, 0, {run, &all});
}

struct Supports {
    const u32* numbers;
    i64 count, start, size, halves;
    u32* counters;
    u64* sums;
};

extern "C" int emulate_add_supports(const u32* edges, i64 count, i64 start, i64 size, i64 halves, u32* counters, u64* sums) {
    Supports all = {edges, count, start, size, halves, counters, sums};
    const auto run = [](void* given) {
        const Supports& a = *(Supports*)given;
        add_supports(a.numbers, a.count, a.start, a.size, a.halves, a.counters, a.sums);
    };
    return run_grid(1, BLOCK_THREADS, 0, {run, &all});
}

extern "C" int emulate_sum_supports(const u32* counters, i64 positions, i64 halves, i64 size, i64 formula, u64* sums) {
    Supports all = {counters, positions, formula, size, halves, nullptr, sums};
    const auto run = [](void* given) {
        const Supports& a = *(Supports*)given;
        sum_supports(a.numbers, a.count, a.halves, a.size, a.start, a.sums);
    };
    return run_grid(1, BLOCK_THREADS, 0, {run, &all});
}
#endif
