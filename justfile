# What a developer types. `just` alone lists it.

default:
    @just --list

# All that CI checks.
ci:
    .ci/run

# The tests of the README.
test:
    cargo test

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# More random histories than the tests run: `just random 200000`.
random runs="100000":
    RANDOM_RUNS={{runs}} cargo test --release -p dataflow --test incremental_equals_scratch -- --nocapture

# More histories of the simulation than the tests run: `just sim 20000`.
sim runs="10000":
    RANDOM_RUNS={{runs}} cargo test --release -p simulation --test one_operator -- --nocapture

# Generated pages and fixtures.
update:
    UPDATE=1 cargo test

# The engine beside its peers; writes docs/performance.md.
bench date:
    cargo bench -p benches --bench ratios -- --write docs/performance.md --date {{date}}

# deltic on a real control plane beside its peers; writes docs/performance.md.
figures date:
    cargo bench -p benches --features cluster --bench figures -- --write docs/performance.md --date {{date}}

# Coverage-guided fuzzing (nightly, `cargo install cargo-fuzz`): `just fuzz path`.
fuzz target:
    cargo +nightly fuzz run {{target}}

# The tests of values under AddressSanitizer, which sees memory that is used after it was freed,
# freed twice or leaked (nightly).
asan:
    hack/asan

# The counts of references, in the orders that threads can take.
loom:
    RUSTFLAGS="--cfg loom" cargo test --locked -p document --lib --target-dir target/loom model::
