# Commands for developers. `just` alone lists them.

default:
    @just --list

# All checks of CI.
ci:
    .ci/run

# The tests of the default members, as in the README.
test:
    cargo test

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Tests incremental evaluation on more random histories: `just random 200000`.
random runs="100000":
    RANDOM_RUNS={{runs}} cargo test --release -p dataflow --test incremental_equals_scratch -- --nocapture

# Runs the simulations with more histories: `just sim 20000`.
sim runs="10000":
    RANDOM_RUNS={{runs}} cargo test --release -p simulation --test one_operator --test fleet -- --nocapture

# Writes the table of built-in kinds from the documents of Kubernetes; needs Go.
schema-table:
    hack/schema-table

# Compares CEL with Kubernetes (needs Go); `UPDATE=1 just cel` rewrites cases and the page of results.
cel:
    cargo test -p cel-interpreter --features oracle --test kubernetes -- --nocapture

# Updates generated pages and fixtures.
update:
    UPDATE=1 cargo test

# Compares the engine with its peers, and writes docs/performance.md.
bench date:
    cargo bench -p benches --bench ratios -- --write docs/performance.md --date {{date}}

# Compares deltic with its peers on a real control plane, and writes docs/performance.md.
figures date:
    cargo bench -p benches --features cluster --bench figures -- --write docs/performance.md --date {{date}}

# Compares the views that deltic serves with custom resources, and writes docs/performance.md.
serving date:
    cargo bench -p benches --features cluster --bench serving -- --write docs/performance.md --date {{date}}

# Makes the files of a release from a tag, in target/release-TAG.
release tag:
    hack/release {{tag}}

# The documentation as a book, in a browser (`cargo install mdbook`).
book:
    mdbook serve --open

# Coverage-guided fuzzing (nightly, `cargo install cargo-fuzz`): `just fuzz path -max_total_time=600`. An input may
# take 30 s and 1 GiB; arguments override that.
fuzz target *args:
    mkdir -p fuzz/corpus/{{target}}
    cargo +nightly fuzz run {{target}} fuzz/corpus/{{target}} $(ls -d crates/fuzzing/corpus/{{target}} 2>/dev/null) -- -timeout=30 -rss_limit_mb=1024 {{args}}

# The tests of `document` under AddressSanitizer (nightly).
asan:
    hack/asan

# Checks the reference counts with loom, in many interleavings of threads.
loom:
    RUSTFLAGS="--cfg loom" cargo test --locked -p document --lib --target-dir target/loom model::
