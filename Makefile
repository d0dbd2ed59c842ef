# Every target begins from nothing: it makes .venv and installs the project there, once for each pyproject.toml.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DOCS_STAMP := .venv/.docs
# On a machine whose own Python has CuPy and the other needs: make gpu-test GPU_PYTHON=python3
GPU_PYTHON ?= $(BIN)/python
# Of make cycle.
READERS ?= 8
RUN_SECONDS ?= 60
# Of make tck and make unique: chosen, operators, columns or rows.
WAY ?= chosen

.DEFAULT_GOAL := help
.PHONY: help demo test docs wheel crash cycle model unique corrupt hostile hostile-queries fork check tck fuzz-language signals format bench bench-long \
	results gpu-test gpu-emulated gpu-sanitize gpu-bench clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

demo: $(STAMP) ## the code graph of the Python standard library: import it, match patterns in it
	$(BIN)/gdbsh demo

# Hundreds of processes import gdb: from bytecode, whatever the environment says. HYPOTHESIS_PROFILE=dev tries more cases.
test: $(STAMP) ## the whole test suite
	PYTHONDONTWRITEBYTECODE= HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} $(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

$(DOCS_STAMP): $(STAMP)
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

docs: $(DOCS_STAMP) ## the documentation as a site in site/ (then: python -m http.server -d site)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

wheel: $(STAMP) ## the wheel and the source archive, in dist/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .

crash: $(STAMP) ## 100,000 disk images that a power cut may leave, and recovery from each
	$(BIN)/python -m tests.crash.enumerate --images 100000

cycle: $(STAMP) ## eight reading processes beside a writing one for a minute (READERS, RUN_SECONDS)
	$(BIN)/python -m tests.crash.cycle --seconds $(RUN_SECONDS) --readers $(READERS)

model: $(STAMP) ## transactions in any order, against a model of dicts, for ten minutes
	PYTHONPATH=. $(BIN)/python -m tests.unit.gdb.api.test_transaction_model --seconds 600

unique: $(STAMP) ## 10,000 random patterns in every match mode, then paths, clauses and writes, against brute force
	PYTHONPATH=. $(BIN)/python -m tests.fuzz --way $(WAY)

check: $(STAMP) ## format, lint, types, and which room may import which
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tck: $(STAMP) ## the openCypher TCK, where ../shared/tck is: a table, and what differs from tests/tck/known.txt
	PYTHONPATH=. $(BIN)/python -m tests.tck.scenarios --way $(WAY)

fuzz-language: $(STAMP) ## 100,000 queries, valid and broken: a result, the same every way, or an error with its place
	PYTHONPATH=. $(BIN)/python -m tests.fuzz.language --number 100000

signals: $(STAMP) ## 2,000 Ctrl-C at random moments, under load: each noticed within 200 ms, what is reported is true
	PYTHONPATH=. $(BIN)/python -m tests.signals --presses 2000

corrupt: $(STAMP) ## damage stores in every way, make every call of a commit fail; two hours; prints the tables
	PYTHONPATH=. $(BIN)/python -m tests.corrupt.table
	PYTHONPATH=. $(BIN)/python -m tests.crash.faults

hostile: $(STAMP) ## forge 5,000 stores under checksums that are right, and use each: no signal, no hang, no memory
	PYTHONPATH=. $(BIN)/python -m tests.hostile --stores 5000

hostile-queries: $(STAMP) ## 1,000 queries that want all memory and all time: 3 s and 512 MB each, an answer or a clear error
	PYTHONPATH=. $(BIN)/python -m tests.hostile.queries --number 1000

fork: $(STAMP) ## 200 rounds of pools and preforked children that read and write beside their parent
	PYTHONPATH=. $(BIN)/python -m tests.fork --rounds 200

format: $(STAMP) ## put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP) ## measure; writes benchmarks/results/ and RESULTS.md (graphs are read from ../shared/data if it is there)
	$(BIN)/python -m benchmarks.process.import_time --save
	$(BIN)/python -m benchmarks.process.install_size --save
	$(BIN)/python -m benchmarks.storage.size_on_disk --save
	$(BIN)/python -m benchmarks.storage.transactions --save
	$(BIN)/python -m benchmarks.storage.statements --save $(if $(PEERS),--peer-python $(PEERS))
	$(BIN)/python -m benchmarks.matching.known_counts --save
	$(BIN)/python -m benchmarks.process.cold_start --save
	$(BIN)/python -m benchmarks.matching.query_graphs --save
	$(BIN)/python -m benchmarks.answers.arrow_rows --save
	$(BIN)/python -m benchmarks.answers.python_rows --save
	$(BIN)/python -m benchmarks.matching.vertex_counts --save
	$(BIN)/python -m benchmarks.matching.floors --save
	$(BIN)/python -m benchmarks.language.preparation --save
	$(BIN)/python -m benchmarks.language.write_scripts --save
	$(BIN)/python -m benchmarks.storage.file_formats --save
	$(BIN)/python -m benchmarks.matching.lsqb --save
	$(BIN)/python -m benchmarks.language.clauses --save
	$(BIN)/python -m benchmarks.language.clause_composition --save
	$(BIN)/python -m benchmarks.matching.ablation --save
	$(BIN)/python -m benchmarks.matching.temporal_patterns --save

bench-long: $(STAMP) ## measure what takes an hour and more: large patterns, and other engines (PEERS=a Python that has them)
	$(BIN)/python -m benchmarks.matching.unlabelled_patterns --save
	$(BIN)/python -m benchmarks.matching.large_patterns --queries 40 --save
	$(or $(PEERS),$(BIN)/python) -m benchmarks.storage.bulk_import --save
	$(BIN)/python -m benchmarks.matching.peers_cpu --save $(if $(PEERS),--peer-python $(PEERS))
	$(or $(PEERS),$(BIN)/python) -m benchmarks.language.paths --save

results: $(STAMP) ## benchmarks/RESULTS.md and the table of the README from benchmarks/results/
	$(BIN)/python -m benchmarks.report.page

gpu-test: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(STAMP)) ## the tests that need a CUDA device
	PYTHON=$(GPU_PYTHON) scripts/gpu_test.sh

gpu-emulated: $(STAMP) ## tests of the GPU without one: its kernels compiled by g++ (some ten minutes)
	$(BIN)/python -m pytest -q -n auto -p tests.emulated.plugin tests/gpu/test_gpu_executor.py tests/gpu/test_gpu_compared.py \
		tests/gpu/test_pairs.py tests/gpu/test_out_of_core.py \
		-k "not at_once and not several and not such_device and not wiki and not front_door and not refused"

gpu-sanitize: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(STAMP)) ## a part of those tests under compute-sanitizer
	PYTHON=$(GPU_PYTHON) scripts/gpu_sanitize.sh

gpu-bench: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(STAMP)) ## measure on a CUDA device, beside published systems
	$(GPU_PYTHON) -m benchmarks.gpu.pattern_counts --save
	$(GPU_PYTHON) -m benchmarks.gpu.index_lookups --save
	$(GPU_PYTHON) -m benchmarks.gpu.row_listing --save
	$(GPU_PYTHON) -m benchmarks.gpu.matching_patterns --save
	$(GPU_PYTHON) -m benchmarks.matching.temporal_patterns --save

clean: ## remove the environment, caches and build outputs
	rm -rf .venv site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
