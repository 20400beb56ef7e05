//! `ledger-bench` measures how fast TigerBeetle, Redis and PostgreSQL move money.
//!
//! Data flows one way:
//! `flags -> Plan [SampleSpec] -> Sample -> Summary -> Measurement (one CSV row) -> report`.
//! The binary starts no server; `run.sh` computes no number.

pub mod arrivals;
pub mod cli;
pub mod command;
pub mod cpu;
pub mod error;
pub mod latencies;
pub mod ledger;
pub mod machine;
pub mod measurement;
pub mod meter;
pub mod peer;
pub mod plan;
pub mod relay;
pub mod report;
pub mod rng;
pub mod runner;
pub mod series;
pub mod stats;
pub mod suite;
pub mod sweep;
pub mod timer;
pub mod warnings;
pub mod watchdog;
pub mod workload;
