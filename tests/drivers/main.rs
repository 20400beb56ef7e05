//! What is particular to each driver of the ledger suite, on the real servers that `./run.sh test`
//! starts; what all have in common is in `tests/ledgers.rs`.

mod postgres;
mod redis;
mod tigerbeetle;
