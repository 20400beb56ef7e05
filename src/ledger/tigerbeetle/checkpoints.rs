//! Checkpoints, which the server counts nowhere but in its data file.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// `SuperBlockVersion` of released builds of 0.16.78. Others may lay out the file otherwise.
const SUPERBLOCK_VERSION: u16 = 2;
/// Where the first copy of the superblock, at the start of the file, has them (`SuperBlockHeader` of 0.16.78): after two
/// checksums of 16 bytes the number of the copy and the version, each of 2, the release of 4, and the sequence of 8.
const COPY_AT: usize = 32;
const VERSION_AT: usize = 34;
const SEQUENCE_AT: usize = 40;
const HEADER_BYTES: usize = 48;

/// The one data file in a folder; `None` where there is none, or several.
pub fn data_file(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|path| path.extension().is_some_and(|extension| extension == "tigerbeetle"));
    files.next().filter(|_| files.next().is_none())
}

/// How often the superblock was written. A lone replica writes it when it is formatted, when it starts, and at each
/// checkpoint. `None` where the file is not as it is known, or may not be read.
pub fn superblocks(file: &Path) -> Option<u64> {
    let mut header = [0; HEADER_BYTES];
    File::open(file).ok()?.read_exact_at(&mut header, 0).ok()?;
    let is_known =
        number(&header, COPY_AT, 2) == 0 && number(&header, VERSION_AT, 2) == u64::from(SUPERBLOCK_VERSION);
    Some(number(&header, SEQUENCE_AT, 8)).filter(|&sequence| is_known && sequence > 0)
}

/// Of so many bytes, the lowest first.
fn number(header: &[u8; HEADER_BYTES], at: usize, bytes: usize) -> u64 {
    header[at..at + bytes].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: u8, sequence: u64) -> Option<u64> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("0_0.tigerbeetle");
        let mut header = [0xff; 4096];
        header[32..36].copy_from_slice(&[0, 0, version, 0]);
        header[40..48].copy_from_slice(&sequence.to_le_bytes());
        fs::write(&file, header).expect("written");
        superblocks(&data_file(folder.path()).expect("one"))
    }

    #[test]
    fn the_sequence_of_a_known_superblock_counts() {
        assert_eq!(written(2, 0x0102_0304_0506), Some(0x0102_0304_0506));
        assert_eq!(written(3, 7), None, "another version");
        assert_eq!(written(2, 0), None, "not formatted yet");
    }

    #[test]
    fn without_the_one_file_nothing_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        fs::write(file("other"), "text").expect("written");
        assert_eq!(data_file(folder.path()), None);
        fs::write(file("a.tigerbeetle"), "short").expect("written");
        assert_eq!(data_file(folder.path()).as_deref().and_then(superblocks), None);
        fs::write(file("b.tigerbeetle"), "text").expect("written");
        assert_eq!(data_file(folder.path()), None, "which of the two?");
    }
}
