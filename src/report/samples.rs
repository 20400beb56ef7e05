//! Rows for tests.

use crate::measurement::{Measurement, SCHEMA};

/// A verified row of the seed suite.
pub fn row(benchmark: &str, system: &str, round: u32, ns_per_op: u64) -> Measurement {
    Measurement {
        schema: SCHEMA,
        run_id: "run-1".into(),
        started_utc: "2026-11-30 20:15:30".into(),
        suite: "seed".into(),
        benchmark: benchmark.into(),
        system: system.into(),
        durability: "shipped".into(),
        round,
        clients: if benchmark == "basic_parallel" { 2 } else { 1 },
        in_flight: 1,
        batch: if benchmark == "basic_batch" { 1000 } else { 1 },
        accounts: 2,
        ns_per_op: Some(ns_per_op),
        verified: "yes".into(),
        cpu: "AMD EPYC".into(),
        cores: Some(2),
        ..Measurement::default()
    }
}

/// A row for each figure, in rounds from 1.
pub fn rows(benchmark: &str, system: &str, ns_per_op: &[u64]) -> Vec<Measurement> {
    (1..).zip(ns_per_op).map(|(round, &ns_per_op)| row(benchmark, system, round, ns_per_op)).collect()
}

/// What a run of six rounds leaves: TigerBeetle 7x slower than Redis, PostgreSQL like TigerBeetle,
/// one outlier, one failed row, one warning.
pub fn run() -> Vec<Measurement> {
    let mut all = rows("basic", "redis", &[115_000, 117_000, 119_000, 121_000, 118_000, 140_000]);
    all.extend(rows("basic", "tigerbeetle", &[820_000, 815_000, 830_000, 825_000, 810_000, 835_000]));
    all.extend(rows("basic", "postgres", &[818_000, 812_000, 833_000, 829_000, 809_000, 834_000]));
    all.extend(rows("basic_batch", "tigerbeetle", &[3_344_849]));
    all.extend(rows("basic_batch", "postgres", &[143_643_593]));
    for row in &mut all {
        row.transfers_per_s = row.ns_per_op.map(|ns_per_op| u64::from(row.batch) * 1_000_000_000 / ns_per_op);
        row.latency_ns_p50 = row.ns_per_op.map(|ns_per_op| ns_per_op - 1_000);
    }
    all[3].warnings = "CPU stolen".into();
    all[0].latency_ns_p99 = Some(250_000);
    let failed = Measurement {
        verified: "no".into(),
        warnings: "10 too low".into(),
        ..row("basic_batch", "redis", 1, 1)
    };
    all.push(failed);
    all
}

/// The same with what tells how near the machine's own floor is: round trips of 14 us, writes of 90 and of 110.
pub fn run_with_floor() -> Vec<Measurement> {
    let mut all = run();
    for row in &mut all {
        let (requests, commits) = match row.system.as_str() {
            "tigerbeetle" => (2, 1),
            "redis" => (3, 0),
            _ => (6, 1),
        };
        (row.ops, row.requests, row.commits) = (Some(100), Some(requests * 100), Some(commits * 100));
    }
    let floors = [
        ("clock", 40),
        ("harness", 70),
        ("loopback", 14_000),
        ("disk_dsync", 90_000),
        ("disk_fdatasync", 110_000),
    ];
    all.extend(floors.into_iter().flat_map(|(benchmark, ns_per_op)| {
        let of = |row| Measurement { suite: "floor".into(), ..row };
        rows(benchmark, "machine", &[ns_per_op; 6]).into_iter().map(of)
    }));
    all
}

/// Six rounds of a cell of the sweep, a little apart, around a time per transfer.
pub fn cell_rows(system: &str, batch: u32, clients: u32, ns_per_op: u64) -> Vec<Measurement> {
    let times: Vec<u64> = [98, 99, 100, 101, 102, 103].map(|percent| ns_per_op * percent / 100).into();
    let of = |row: Measurement| Measurement {
        suite: "sweep".into(),
        durability: "fsync".into(),
        arrivals: "closed".into(),
        accounts: 10_000,
        batch,
        clients,
        transfers_per_s: row.ns_per_op.map(|ns| u64::from(batch) * 1_000_000_000 / ns),
        latency_ns_p50: Some(1_000),
        ..row
    };
    rows("transfers", system, &times).into_iter().map(of).collect()
}

/// Times per op of `TigerBeetle` and Redis by clients, at batch 1; 0: not measured.
pub fn row_of(cells: &[(u32, u64, u64)]) -> Vec<Measurement> {
    let mut rows = Vec::new();
    for &(clients, tigerbeetle, redis) in cells {
        for (system, ns) in [("tigerbeetle", tigerbeetle), ("redis", redis)] {
            if ns > 0 {
                rows.extend(cell_rows(system, 1, clients, ns));
            }
        }
    }
    rows
}

/// Redis leads at batch 1 until 16 clients, `TigerBeetle` at batch 1000; one cell was not measured, one failed.
pub fn sweep() -> Vec<Measurement> {
    let mut rows = row_of(&[(1, 400_000, 100_000), (4, 200_000, 100_000), (16, 50_000, 100_000)]);
    rows.extend(cell_rows("tigerbeetle", 1000, 1, 1_000_000));
    rows.extend(cell_rows("redis", 1000, 1, 2_000_000));
    rows.extend(cell_rows("tigerbeetle", 1000, 16, 1_000_000));
    let failed = cell_rows("redis", 1000, 16, 1_000_000);
    rows.extend(failed.into_iter().map(|row| Measurement { verified: "no".into(), ..row }));
    rows
}
