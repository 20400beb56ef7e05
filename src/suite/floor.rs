//! The floor suite: what this machine's clock, this harness, its network stack and its disk take by themselves.
//! No system can be faster than the parts that it needs of these.

use std::{
    fs::{File, OpenOptions},
    hint::black_box,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{
    error::bad_input,
    ledger::{self, Echo, SeedLedger, System},
    meter::Meter,
    plan::{Benchmark, Case},
    runner::Work,
    timer::Op,
};

/// What is written at once: a page, and a sector of today's disks.
const PAGE_BYTES: usize = 4_096;
/// The file is written round and round, so that no write has to find new room on the disk.
const PAGES: u64 = 4_096;

/// Aligned as `O_DIRECT` wants it.
#[repr(align(4096))]
struct Page([u8; PAGE_BYTES]);

/// The client of a floor.
pub struct Client {
    floor: Floor,
    meter: Meter,
}

enum Floor {
    Clock { reads: u32 },
    Harness(Box<dyn SeedLedger>),
    Loopback(Echo),
    Disk(Disk),
}

/// The one client of a case. `data`: the folder of the servers' data, for the disk under it.
pub fn connect(case: &Case, meter: Meter, data: Option<&Path>, timeout: Duration) -> Result<Client> {
    let floor = match case.benchmark {
        Benchmark::Clock => Floor::Clock { reads: case.benchmark.repeats() },
        Benchmark::Harness => {
            let mut nothing = ledger::connect(System::Memory, timeout)?;
            Floor::Harness(nothing.seed_client(meter.clone())?)
        }
        Benchmark::Loopback => Floor::Loopback(Echo::connect(&System::Machine.address()?, timeout)?),
        Benchmark::DiskDsync => Floor::Disk(Disk::create(data, libc::O_DSYNC, false)?),
        Benchmark::DiskFdatasync => Floor::Disk(Disk::create(data, 0, true)?),
        other => unreachable!("{other} is of another suite"),
    };
    Ok(Client { floor, meter })
}

impl Op for Client {
    #[inline]
    fn end(&mut self) -> Result<()> {
        match &mut self.floor {
            Floor::Clock { reads } => {
                for _ in 0..*reads {
                    black_box(Instant::now());
                }
                Ok(())
            }
            Floor::Harness(nothing) => nothing.hello(),
            Floor::Loopback(echo) => {
                self.meter.count();
                echo.round_trip()
            }
            Floor::Disk(disk) => disk.write(),
        }
    }
}

impl Work for Client {
    fn hello(&mut self) -> Result<()> {
        self.end()
    }

    fn requests(&self) -> u64 {
        self.meter.total()
    }
}

/// A file that is written past the kernel's cache.
struct Disk {
    file: File,
    path: PathBuf,
    page: Box<Page>,
    next: u64,
    syncs: bool,
}

impl Disk {
    /// Writes all of the file once. `flags`: of open(2), beside `O_DIRECT`. `syncs`: by a call after each write.
    fn create(data: Option<&Path>, flags: i32, syncs: bool) -> Result<Self> {
        let data = data.ok_or_else(|| bad_input("the disk's floor needs --data: ./run.sh passes it"))?;
        let path = data.join(format!("ledger-bench-floor-{}", std::process::id()));
        let in_file = || format!("writing past the kernel's cache to {}", path.display());
        let file =
            OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_DIRECT | flags).open(&path);
        let file = file.with_context(in_file)?;
        let mut disk =
            Self { file, path: path.clone(), page: Box::new(Page([7; PAGE_BYTES])), next: 0, syncs: false };
        // Each sync would wait for the disk: the file is filled through another handle, without any.
        let filling = OpenOptions::new().write(true).open(&path).with_context(in_file)?;
        for page in 0..PAGES {
            filling.write_all_at(&disk.page.0, page * PAGE_BYTES as u64).with_context(in_file)?;
        }
        filling.sync_all().with_context(in_file)?;
        disk.syncs = syncs;
        disk.write().with_context(in_file)?;
        Ok(disk)
    }

    #[inline]
    fn write(&mut self) -> Result<()> {
        self.page.0[0] = self.page.0[0].wrapping_add(1);
        self.file.write_all_at(&self.page.0, self.next * PAGE_BYTES as u64)?;
        if self.syncs {
            self.file.sync_data()?;
        }
        self.next = (self.next + 1) % PAGES;
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // run.sh empties the folder, too
    }
}
