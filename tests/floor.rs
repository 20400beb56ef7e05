//! The floor suite as processes: this machine's clock, network stack and disk, without a database.

mod common;

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command},
};

use common::{Bench, stderr};

/// The process that echoes, ended with its test.
struct Echo {
    process: Child,
    address: String,
}

impl Echo {
    fn start(bench: &Bench) -> Self {
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        let process =
            bench.command(&["echo", "--port", &free.port().to_string()]).spawn().expect("it starts");
        let echo = Self { process, address: free.to_string() };
        let ping = echo.known_to(bench.command(&["ping", "machine", "--timeout", "20s"])).status();
        assert!(ping.expect("it runs").success());
        echo
    }

    fn known_to(&self, mut command: Command) -> Command {
        command.env("LOOPBACK_ADDRESS", &self.address);
        command
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).expect("it was there to the end");
    }
}

#[test]
fn each_floor_is_measured_and_counted() {
    let bench = Bench::new();
    let echo = Echo::start(&bench);
    // On the disk of the build: where scratch folders are memory, there is nothing to write past the cache of.
    let data = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for line in bench.plan("--suite floor --rounds 1 --ops 20 --warmup 4ms") {
        let data = data.to_str().expect("text");
        let output = echo.known_to(bench.sample(&line, &["--data", data])).output().expect("it runs");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    let mut counted: Vec<_> = bench
        .rows()
        .into_iter()
        .map(|row| {
            assert!(row.is_verified() && row.transfers.is_none() && row.transfers_per_s.is_none());
            assert!(row.ns_per_op.is_some_and(|ns_per_op| ns_per_op > 0), "{}", row.benchmark);
            (row.benchmark, row.ops, row.requests, row.commits, row.latency_ns_p50.is_some())
        })
        .collect();
    counted.sort();
    let row = |benchmark: &str, ops, requests, commits, has_latencies| {
        (benchmark.to_owned(), Some(ops), Some(requests), Some(commits), has_latencies)
    };
    let expected = [
        row("clock", 20_000, 0, 0, false),
        row("disk_dsync", 20, 0, 20, true),
        row("disk_fdatasync", 20, 0, 20, true),
        row("harness", 20, 20, 0, true),
        row("loopback", 20, 20, 0, true),
    ];
    assert_eq!(counted, expected);
    let left = data.read_dir().expect("listed").flatten();
    let left: Vec<_> = left.filter(|file| file.file_name().to_string_lossy().contains("floor")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_floor_that_cannot_be_measured_is_refused() {
    let bench = Bench::new();
    let line =
        |benchmark: &str| bench.plan(&format!("--benchmark {benchmark} --suite floor --ops 1")).remove(0);
    let echo = Echo::start(&bench);
    let output = echo.known_to(bench.sample(&line("disk_dsync"), &[])).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the disk's floor needs --data"), "{}", stderr(&output));
    let address = echo.address.clone();
    drop(echo);
    let mut command = bench.sample(&line("loopback"), &[]);
    let output = command.env("LOOPBACK_ADDRESS", &address).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("machine at {address}")), "{}", stderr(&output));
    assert!(!bench.csv().exists(), "nothing was measured");
}
